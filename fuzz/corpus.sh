#!/bin/bash
# Writes the seed corpus of the fuzzers: small files, valid and almost valid. They are generated, so
# that the tree has no binary files.
#     fuzz/corpus.sh FOLDER      writes a folder per fuzzer
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
corpus=$1
mkdir -p "$corpus"/{npy,safetensors,idx,png,tokenizer,lesson,sdpa,cache,config,checkpoint,folder,data}

little() { # little BYTES NUMBER: the number, least significant byte first
  local n=$2 text=
  for ((i = 0; i < $1; i++)); do text+=$(printf '\\x%02x' $((n & 255))) && n=$((n >> 8)); done
  printf '%b' "$text"
}

npy() { # npy FILE VERSION HEADER DATA
  {
    printf '\x93NUMPY%b' "\\x0$2\\x00"
    little $(($2 == 1 ? 2 : 4)) ${#3}
    printf '%s%b' "$3" "$4"
  } >"$corpus/npy/$1"
}

tensors() { # tensors FILE HEADER DATA
  { little 8 ${#2} && printf '%s%b' "$2" "$3"; } >"$corpus/safetensors/$1"
}

npy fortran 1 "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }  " '\0\0\x80\x3f\0\0\0\x40'
npy big 2 "{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }" '\x3f\xf0\0\0\0\0\0\0'
npy half 3 "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2, 1), }" '\0\x3c\0\x80'
npy empty 1 "{'descr': '|b1', 'fortran_order': False, 'shape': (0, 3), }" ''
npy scalar 1 "{'descr': '<i8', 'fortran_order': False, 'shape': (), }" '\1\0\0\0\0\0\0\0'
npy overflow 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296), }" ''
tensors two '{"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}    ' '\x80\x3f\0\x40'
tensors more '{"__metadata__":{"by":"us"},"a":{"dtype":"F32","shape":[1,1],"data_offsets":[2,6]},"b":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}' '\0\x3c\0\0\x80\x3f'
tensors other '{"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"I64","shape":[0],"data_offsets":[1,1]}}' 'x'
tensors no-object '{"a":1}' ''
tensors valid-then-not '{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"b":{"shape":0}}' ''
tensors wraps '{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}' ''

# PNG files after a size and a type to scale to: colour type and depth, rows in hexadecimal, each
# with its filter. The CRCs are 0: fuzz_png.c corrects them.
hex() { printf '%b' "$(sed 's/ //g; s/../\\x&/g' <<<"$1")"; }
big() { printf '%08x' "$1"; }
chunk() { printf '%s%s%s00000000' "$(big $((${#2} / 2)))" "$(printf '%s' "$1" | od -An -tx1 | tr -d ' \n')" "$2"; } # chunk TYPE HEX
deflated() { # deflated HEX: a zlib stream of one stored block
  local a=1 b=0 i size=$((${#1} / 2))
  for ((i = 0; i < ${#1}; i += 2)); do a=$(((a + 16#${1:i:2}) % 65521)) && b=$(((b + a) % 65521)); done
  printf '780101%02x%02x%02x%02x%s%04x%04x' $((size & 255)) $((size >> 8)) $((~size & 255)) $((~size >> 8 & 255)) "$1" $b $a
}
png() { # png FILE WIDTH HEIGHT DEPTH COLOR INTERLACED ROWS [CHUNKS]
  hex "05070189504e470d0a1a0a$(chunk IHDR "$(big "$2")$(big "$3")$(printf '%02x%02x0000%02x' "$4" "$5" "$6")")${8:-}$(chunk IDAT "$(deflated "${7// /}")")$(chunk IEND '')" >"$corpus/png/$1"
}
png grey-1 9 2 1 0 0 '00aa80 01ff00'
png grey-2-key 5 1 2 0 0 '001b80' "$(chunk tRNS 0002)"
png grey-4 3 1 4 0 0 '001ff0'
png grey-16 2 2 16 0 0 '00123480ff 02ffff0001'
png grey-alpha 2 1 8 4 0 '00ff80 1040'
png grey-alpha-16 1 1 16 4 0 '0012345678'
png palette 4 1 2 3 0 '001b' "$(chunk PLTE 000000ff000000ff00ffffff)$(chunk tRNS 00408000)"
png palette-missing 4 1 8 3 0 '0000010203' "$(chunk PLTE 102030)"
png rgb 2 2 8 2 0 '03010203040506 04010203040506'
png rgb-key 2 1 8 2 0 '00010203040506' "$(chunk tRNS 000100020003)"
png rgb-16 1 1 16 2 0 '00010203040506' "$(chunk gAMA 0000b18f)"
png rgba 2 1 8 6 0 '000102038004050600'
png rgba-16 1 1 16 6 0 '000102030405060708'
png interlaced 3 3 8 0 1 '0001 0002 0003 000405 0006 0007 00080901'
png interlaced-rgb 2 2 8 2 1 '00010203 00040506 00070809010203'
png large 32768 2048 8 6 1 '00'
png larger 32769 2048 8 6 0 '00'
png short 9 9 8 2 0 '00010203'
hex "050701$(printf '\x89PNG' | od -An -tx1 | tr -d ' \n')" >"$corpus/png/signature"

# IDX arrays, after a byte; fuzz_idx.c documents it.
idx() { hex "$2" >"$corpus/idx/$1"; } # FILE HEX
for kind in 00 01; do
  idx bytes-$kind "$kind 00000803 00000002 00000001 00000003 010203040506"
  idx labels-$kind "$kind 00000801 00000004 00010203"
  idx floats-$kind "$kind 00000d01 00000001 3f800000"
  idx short-$kind "$kind 00000802 00000400 00000400 00"
  idx huge-$kind "$kind 00000803 ffffffff ffffffff ffffffff"
done
idx gzip "00 1f8b0800000000000003 636060e04800 00 00000000 00000000"

# A tokenizer, a NUL, and a text. The byte-level ones are incomplete, which unk_token permits.
added='"added_tokens":['
for special in '0 <pad>' '1 <s>' '2 </s>' '3 <unk>'; do
  added+="{\"id\":${special% *},\"content\":\"${special#* }\",\"special\":true},"
done
added=${added%,}']'
tokenizer() { printf '{"version":"1.0",%s,%s}\0%b' "$added" "$2" "$3" >"$corpus/tokenizer/$1"; } # FILE REST TEXT
tokenizer characters '"pre_tokenizer":{"type":"Split","pattern":{"Regex":"[\\s\\S]"},"behavior":"Isolated","invert":false},"decoder":{"type":"Fuse"},"model":{"type":"WordLevel","unk_token":"<unk>","vocab":{"a":4,"私":5," ":6}}' 'a 私は'
bytes='"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","unk_token":"<unk>",'
tokenizer pairs "$bytes"'"vocab":{"a":4,"b":5,"Ġ":6,"ab":7,"Ġab":8,"aa":9},"merges":["a b","Ġ ab",["a","a"]]}' "aab aaaaa ab's 12\n\n  b\xff"
tokenizer unknown "$bytes"'"vocab":{"a":4,"b":5},"merges":["a b"]}' ab
pieces() { # pieces FILE MODEL'S-NUMBERS NORMALIZER'S-FLAGS TEXT
  local flags=($3)
  printf '{"version":"1.0","truncation":{"max_length":9,"strategy":"LongestFirst","stride":0},"padding":{},%s,"normalizer":{"type":"BertNormalizer","clean_text":%s,"handle_chinese_chars":%s,"strip_accents":%s,"lowercase":%s},"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],"special_tokens":{"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]},"</s>":{"id":"</s>","ids":[2],"tokens":["</s>"]}}},"decoder":{"type":"WordPiece","prefix":"##","cleanup":true},"model":{"type":"WordPiece","unk_token":"<unk>","continuing_subword_prefix":"##","max_input_chars_per_word":%s,"vocab":{"a":4,"##b":5,"##ab":6,"私":7,"!":8,"i":9,"##〮":10}}}\0%b' "$added" "${flags[@]}" "$2" "$4" >"$corpus/tokenizer/$1"
}
pieces wordpiece 100 'true true null true' 'aab AB!\x01b 私é İ a\u302e\U0001d165\u0488\u0327'
pieces wordpiece-bare 2 'false false false false' 'aab\r\n私a İ'
pieces wordpiece-lower 4 'false false false true' 'İ İa\u00a0b'
tokenizer twice "$bytes"'"vocab":{"a":4,"b":4},"merges":[]}' ab

# Configurations: one of each kind, and of each of the parts that there are.
small='"d_model":8,"num_heads":2,"ffn_dim":8,"encoder_layers":1,"decoder_layers":1,"max_positions":12,"dropout":0'
config() { printf '{%s%s}' "$small" "$2" >"$corpus/config/$1"; } # FILE MORE
config plain ''
config decoder ',"kind":"decoder","norm":"rms_norm","bias":false,"activation":"swiglu","positions":"rotary","num_kv_heads":1'
config encoder ',"kind":"encoder","head":"transform","activation":"silu","tie_word_embeddings":true,"output_bias":true,"type_vocab_size":2'
config hidden ',"kind":"encoder","head":"none","normalize_embedding":true'
config learned ',"norm_first":false,"final_norm":false,"positions":"learned","activation":"gelu","scale_embedding":false'
config alibi ',"head_dim":3,"value_head_dim":5,"positions":"alibi","activation":"gelu_tanh","norm_eps":1e-12'
config halves ',"positions":"sinusoidal_halves","share_encoder_decoder_embeddings":true,"source_vocab_size":9,"vocab_size":9'
config joined ',"position_mode":"concatenate","position_dim":3,"positions":"none","rotary_base":1e4'

# Checkpoints: four texts; fuzz_checkpoint.c adds the weights.
vocabulary='"model":{"type":"WordLevel","unk_token":"<unk>","vocab":{"0":4,"1":5,"2":6,"3":7,"+":8,"a":9,"b":10}}'
characters='{"version":"1.0",'$added',"pre_tokenizer":{"type":"Split","pattern":{"Regex":"[\\s\\S]"},"behavior":"Isolated","invert":false},"decoder":{"type":"Fuse"},'$vocabulary'}'
training='{"schedule":"cosine","rate":0.01,"warm_up":2,"steps":9,"beta1":0.9,"beta2":0.98,"epsilon":1e-9,"decay":0.01,"clip":1.0,"smoothing":0.1,"batch":2,"accumulate":1,"tokens":64,"longest":16,"seed":7,"step":3,"skipped":0,"drawn":6}'
run='{"task":"addition","data":null,"held_out":null,"hash":0,"validate_every":4,"examples":2,"patience":3,"until":0.5,"best":0.25,"best_loss":1.5,"exact":0.25,"loss":1.5,"best_step":2,"worse":1}'
checkpoint() { printf '{%s,"vocab_size":11,"max_positions":40%s}\0%s\0%s\0%s\0%b' "${small/,\"max_positions\":12/}" "$2" "$characters" "${3:-$training}" "${4:-$run}" "${5:-}" >"$corpus/checkpoint/$1"; } # FILE MORE TRAINING RUN DAMAGE
checkpoint plain ''
checkpoint decoder ',"kind":"decoder","positions":"rotary"'
checkpoint encoder ',"kind":"encoder"' '' "${run/addition/letters}"
checkpoint damaged '' '' '' '\x09\x00\x01\x80\x01\x20'
checkpoint halves '' "${training/\"drawn\":6/\"drawn\":6,\"precision\":\"bf16\"}"
checkpoint long ',"kind":"decoder"'
sed -i 's/"max_positions":40/"max_positions":16777216,"positions":"none"/' "$corpus/checkpoint/long"
checkpoint wide ''
sed -i 's/"d_model":8/"d_model":16777216,"head_dim":4/' "$corpus/checkpoint/wide"
one='{"version":"1.0","added_tokens":[],"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},"decoder":{"type":"WordPiece","prefix":"##","cleanup":true},"model":{"type":"WordPiece","unk_token":"a","continuing_subword_prefix":"##","max_input_chars_per_word":9,"vocab":{"a":0}}}'
for kind in encoder-decoder decoder encoder; do # of one word: no number of a beginning and an end is in the tables
  printf '{%s,"vocab_size":1,"kind":"%s"}\0%s\0%s\0%s\0' "$small" "$kind" "$one" "$training" "$run" >"$corpus/checkpoint/one-word-$kind"
done
checkpoint file '' '' "${run/\"task\":\"addition\",\"data\":null/\"task\":null,\"data\":\"none.tsv\"}"

# Folders: config.json and the other files, in the order of fuzz_folder.c.
bert='{"model_type":"bert","architectures":["BertModel"],"vocab_size":11,"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":8,"hidden_act":"gelu","max_position_embeddings":12,"type_vocab_size":2,"layer_norm_eps":1e-12,"position_embedding_type":"absolute"}'
gpt2='{"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"vocab_size":11,"n_embd":8,"n_layer":1,"n_head":2,"n_inner":null,"n_positions":12,"activation_function":"gelu_new"}'
marian='{"model_type":"marian","architectures":["MarianMTModel"],"vocab_size":11,"d_model":8,"encoder_layers":1,"decoder_layers":1,"encoder_attention_heads":2,"decoder_attention_heads":2,"encoder_ffn_dim":8,"decoder_ffn_dim":8,"activation_function":"swish","max_position_embeddings":12,"scale_embedding":true}'
modules='[{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},{"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"},{"idx":2,"name":"2","path":"2_Normalize","type":"sentence_transformers.models.Normalize"}]'
pooling='{"word_embedding_dimension":8,"pooling_mode_cls_token":false,"pooling_mode_mean_tokens":true,"pooling_mode_max_tokens":false}'
folder() { printf '%s\0' "${@:2}" >"$corpus/folder/$1"; } # FILE TEXT...
wordpiece=$(tr '\0' '\n' <"$corpus/tokenizer/wordpiece" | head -n 1)
folder bert "$bert" "$wordpiece"
folder sentence "$bert" "$wordpiece" "$modules" "$pooling" '{"max_seq_length":8,"do_lower_case":false}'
folder masked "${bert/BertModel/BertForMaskedLM}" "$characters"
folder gpt2 "$gpt2" "$characters" '' '' '' '{"bos_token_id":1,"eos_token_id":2}'
folder marian "$marian" "$characters" '' '' '' '{"decoder_start_token_id":0,"eos_token_id":2,"pad_token_id":0}'
folder no-end "$marian" "$characters" '' '' '' '{"decoder_start_token_id":0,"eos_token_id":null,"pad_token_id":0}'

# Training data; fuzz_data.c documents the first byte.
data() { printf '%b' "$2" >"$corpus/data/$1"; } # FILE BYTES
data pairs '\x00ab\tba\na b\tb a\r\n\n私\tは\nx\ty\n12\t21'
data joined '\x01one text\nanother\twith a tab\n\t\n'
data held-out '\x02a\tb\nc\td\n\xffe\tf\n'
data characters '\x04a b\tb a\nb c\tc\nd\td e f\n'
data pairs-of-bytes '\x08aab aab\taab\nab\tb\n\xef\xbb\xbfa\ta\n'
data labels '\x10\xef\xbb\xbfabc\tcba\nab\tb\nx\ty\n'

# Valid calls of every kind and type, plain and with all features; fuzz_sdpa.c documents the bytes.
for kind in 0 1 2 3 4 5; do
  sizes='\1\1\1\4\2\6\5' rank='\0'
  case $kind in 2 | 3) sizes+='\3\0\5\1\3\6\1' rank= ;; esac
  for type in 0 1 2 3; do
    call="\\$kind\\$type$sizes$rank"'\0\0\0\1\0\0\0\0'
    printf '%b' "$call" >"$corpus/sdpa/plain-$kind-$type"
    printf '%b' "$call"'\xff\x07' >"$corpus/sdpa/all-$kind-$type"
    printf '%b' "$call"'\xff\x07'"$(printf '\\3%.0s' {1..60})" >"$corpus/sdpa/more-$kind-$type"
  done
done

# Pseudorandom bytes, from which fuzz_cache.c takes its calls.
for seed in {1..40}; do
  text=$(awk -v n="$seed" 'BEGIN { for (i = 0; i < 400; i++) { n = n * 16807 % 2147483647; printf "\\x%02x", int(n / 4096) % 256 } }')
  printf '%b' "$text" >"$corpus/cache/$seed"
done

found() { printf '%s' "$3" | base64 -d >"$corpus/$1/$2"; } # found FUZZER NAME BASE64: a former crash
found sdpa vector-of-no-width AGj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+PgABQMBAf4EpQ==
found sdpa cut-of-no-elements AykCBgEBBAH7HBwcHBwIAAAAABwcHBwcHBwcHBwDKQIGAQEEAfscHBwcHAgAAAAAHBwc
found lesson no-rows-before 77u/DQoNLTAuIA0KCQ0K

cp "$here"/../examples/lessons/* "$here"/../tests/lesson/*/*.md "$corpus/lesson/" 2>/dev/null || true
[ -z "${ATTN_SEEDS:-}" ] || cp "$ATTN_SEEDS"/*.txt "$corpus/lesson/" 2>/dev/null || true
cat >"$corpus/lesson/mixed" <<'T'
# Example 1
tokens: 私 は
\[ W^Q = \begin{bmatrix} 1 & 0 \ 0.5 & \frac{1}{2} \end{bmatrix} \]
X
1 0
0 1
| は | [1, 0] |
q = torch.tensor([[1.0, 0.0]])
s = q @ q.T / np.sqrt(2)  # → tensor([[0.7071]])
T
cat >"$corpus/lesson/steps" <<'T'
X
1 0
0 1
W_Q
1 2
0 1
W_K
1 0
1 1
W_V
1/2 0
0 -1
Q
1 2
0 1
scores
1 3
0 1
weights
0.20 0.80
0.33 0.67
T
lesson() { printf '%b' "$2" >"$corpus/lesson/$1"; } # FILE TEXT
lesson notebook '{"cells":[{"cell_type":"markdown","source":["# X\\n","Q = [[1,0],[0,1]]\\n","K = [[1,0],[0,1]]\\n"]},{"cell_type":"code","source":"S = Q @ K.T","outputs":[{"text":["[[1. 0.]\\n"," [0. 1.]]\\n"]},{"data":{"text/plain":"\\u001b[31mtensor([[1., 0.]])"}}]}],"nbformat":4}'
lesson octave '>> Q = [1 0; 0 1]\nQ =\n\n   1   0\n   0   1\n\n>> S = Q*Q\x27/sqrt(2)\nS =\n\n   0.7071        0\n        0   0.7071\n\n'
lesson typst '$ Q = mat(1, 0; 0, 1) $\n$ Q Q^T = mat(1, 0; 0, 1) $\n'
lesson wiki '{| class="wikitable"\n! Q !! a !! b\n|-\n| the || 1 || 0\n|-\n| cat || 0 || 1\n|}\n'
lesson asciidoc '.Q\n|===\n|1 |0\n|0 |1\n|===\n'
lesson html '<table><caption>Q</caption><tr><th>the<td>1<td>&minus;0.5</tr><tr><th>cat<td>0<td>1</tr></table>\n<math><mtable><mtr><mtd>1</mtd><mtd>0</mtd></mtr></mtable></math>'
lesson latex 'Q: $\\begin{pmatrix} 1 & 0 \\\\ \\frac{1}{\\sqrt2} & \\dfrac{2}{3} \\end{pmatrix}$\n\\begin{tabular}{c|cc} a & 1 & 0 \\\\ \\hline b & 0 & -\\infty \\end{tabular}\n'
lesson drawn 'Q = ⎡1.0 0.0⎤\n    ⎣0.0 1.0⎦\n┌─────┬─────┐\n│ 1.0 │ 0.5 │\n└─────┴─────┘\n'
lesson turns 'Token 1: q = [1, 0], k = [1, 1]\nToken 2: q = [0, 1], k = [1, 0]\nq1·k1 = 1*1 + 0*1 = 1, q1·k2 = 1\n0.5 [1, 0] + 0.5 [0, 1] = [0.5, 0.5]\nthe weights are 0.25, 0.25 and 0.50; "it" has 0.5, "they" has 0.3\nexp(1) + exp(2) = 2.72 + 7.39 = 10.11\n'
lesson commas 'Q\n0,50 0,25\n1,00 0,75\n1.234,5; 2\n'
lesson heads '# Head 1\nQ\n1 0\n0 1\nK\n1 1\n0 1\nscores\n1 0\n1 1\nmasked\n1 -inf\n1 1\n# Head 2\nQ\n2 0\n0 1\n| | a | b |\n|---|---|---|\n| weights 1 | 0.5 | 0.5 |\n'
lesson signs 'q₁ = (１, −２)ᵀ, 1.5×10⁻³, ½, √2/2, 2√3, (1+2)/3, e^(−1), 50%, α₁₂ = .5, ▣0▣ ⟦1¦2⏎3⟧\n'
