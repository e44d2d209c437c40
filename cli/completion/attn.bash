# bash completion of attn; the options come from the command itself.
_attn() {
  local words=("${COMP_WORDS[@]:0:COMP_CWORD}") cur=${COMP_WORDS[COMP_CWORD]} previous name values options=
  COMPREPLY=()
  # "--lang=e" is three words: --lang = e
  [[ $cur == '=' ]] && words+=('=') && cur=
  [[ ${words[-1]} == '=' ]] && unset 'words[-1]'
  previous=${words[-1]}
  if ((${#words[@]} == 1)); then
    COMPREPLY=($(compgen -W "$("${words[0]}" --complete | cut -f1) --help --version" -- "$cur"))
    return
  fi
  while IFS=$'\t' read -r name values; do
    if [[ $name == "$previous=" ]]; then
      [[ $values ]] && COMPREPLY=($(compgen -W "$values" -- "$cur"))
      return # without values: a file
    fi
    options+=" ${name%=}"
  done < <("${words[0]}" --complete "${words[1]}" 2>/dev/null)
  [[ $cur == -* ]] && COMPREPLY=($(compgen -W "$options" -- "$cur"))
}
complete -o default -o bashdefault -F _attn attn
