#compdef attn
# zsh completion of attn; the options come from the command itself.
_attn() {
  local line name
  local -a lines commands options values
  if (( CURRENT == 2 )); then
    for line in ${(f)"$($words[1] --complete)"}; do
      commands+=("${line%%$'\t'*}:${line#*$'\t'}")
    done
    _describe command commands
    return
  fi
  lines=(${(f)"$($words[1] --complete $words[2] 2>/dev/null)"})
  for line in $lines; do
    name=${line%%$'\t'*}
    values=()
    [[ $line == *$'\t'* ]] && values=(${(s:	:)line#*$'\t'})
    if [[ $name == "$words[CURRENT-1]=" ]]; then
      if (( $#values )); then compadd -a values; else _files; fi
      return
    fi
    options+=(${name%=})
  done
  if [[ $PREFIX == -* ]]; then compadd -a options; else _files; fi
}
if [[ $funcstack[1] == _attn ]]; then _attn "$@"; else compdef _attn attn; fi
