# fish completion of attn; the options come from the command itself.
function __attn_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l options
    for line in ($words[1] --complete $words[2] 2>/dev/null)
        set -l parts (string split \t -- $line)
        if test "$parts[1]" = "$words[-1]="
            test (count $parts) -gt 1; and printf '%s\n' $parts[2..-1]; or __fish_complete_path $current
            return
        end
        set -a options (string trim -r -c = -- $parts[1])
    end
    if string match -q -- '-*' $current
        printf '%s\n' $options
    else
        __fish_complete_path $current
    end
end
complete -c attn -e
complete -c attn -f -n 'test (count (commandline -opc)) -eq 1' -a '(attn --complete)'
complete -c attn -f -n 'test (count (commandline -opc)) -gt 1' -a '(__attn_complete)'
