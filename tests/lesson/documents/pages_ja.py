"""The documents in Japanese."""
import re
from generate import page
from pages_en import notebook

wide = lambda s: s.translate({ord(c): ord(c) + 0xfee0 for c in "0123456789.-+="})

page("01-blog-ja.md", "markdown pipe tables", "ja", "self-attention", steps="Q0 K0 V0 scores0 scaled4 weights4 output4", pool=(0, 1, 2), tok="猫 が 鳴く", text=r"""
# 「猫が鳴く」で理解する Self-Attention

こんにちは。社内勉強会で「Attention の式は読めるけど、数字で追ったことがない」という声が多かったので、3 トークンだけの例を手で計算してみました。
途中の値は丸めずに計算し、表示だけ小数第 4 位までにしています。

## 入力

| | x1 | x2 | x3 | x4 |
|---|---|---|---|---|
<<"\n".join("| " + t + " | " + " | ".join(r) + " |" for t, r in zip(tok, X))>>

重み行列はこちら（適当に決めました）。

**W_Q**

<<pipe(WQ)>>

**W_K**

<<pipe(WK)>>

**W_V**

<<pipe(WV)>>

## クエリ・キー・バリュー

Q = X W_Q:

<<pipe(Q, tok, ["1", "2"])>>

K = X W_K:

<<pipe(K, tok, ["1", "2"])>>

V = X W_V:

<<pipe(V, tok, ["1", "2"])>>

## スコア（Q Kᵀ）

<<pipe(scores, tok, tok, "Q＼K")>>

次元が 2 なので √2 で割ります。

<<pipe(scaled, tok, tok, "Q＼K")>>

## ソフトマックス後の重み

<<pipe(weights, tok, tok, "Q＼K")>>

## 出力

重みで V を混ぜ合わせたものが出力です。

<<pipe(output, tok, ["1", "2"])>>

次回は複数ヘッドの場合を書く予定です。間違いを見つけたらコメントで教えてください。
""")

page("02-seminar-ja.tex", "LaTeX bmatrix", "ja", "self-attention", D=3, dk=3, pool=(0, 1, 2), wpool=(0, 1, -1), steps="Q0 K0 V0 scores0 scaled3 weights3 output3", slip="K transposed-weight", text=r"""
\documentclass{jsarticle}
\usepackage{amsmath}
\title{輪講資料：注意機構の数値例}
\author{修士1年\quad 高橋}
\begin{document}
\maketitle

\section{設定}
単語数を $3$、埋め込み次元を $d=3$、$d_k=3$ とする。入力を行ベクトルで並べた行列を
\[
  X = <<tex(X, "pmatrix")>>
\]
とおく。学習済みの重みとして次を用いる。
\begin{align}
  W_Q &= <<tex(WQ, "pmatrix")>>, \\
  W_K &= <<tex(WK, "pmatrix")>>, \\
  W_V &= <<tex(WV, "pmatrix")>>.
\end{align}

\section{射影}
それぞれ右から掛けて
\begin{align}
  Q &= X W_Q = <<tex(Q, "pmatrix")>>, \\
  K &= X W_K = <<tex(K, "pmatrix")>>, \\
  V &= X W_V = <<tex(V, "pmatrix")>>
\end{align}
を得る。

\section{スコアと正規化}
\begin{align}
  Q K^{\top} &= <<tex(scores, "pmatrix")>>, \\
  \frac{QK^{\top}}{\sqrt{3}} &= <<tex(scaled, "pmatrix")>>.
\end{align}
各行にソフトマックスを施すと
\[
  A = <<tex(weights, "pmatrix")>>
\]
となる。最後に
\[
  A V = <<tex(output, "pmatrix")>>
\]
が出力である。値は小数第3位までを示した。
\end{document}
""")

page("03-memo-ja.txt", "plain text columns", "ja", "causal mask", n=4, mask="causal", direct=True, pool=(0, 1, 2, -1), hide="-1e9", steps="scores0 scaled2 masked2 weights3 output3", slip="masked mask-ignored-row", tok="", text=r"""
因果マスク付きアテンションの計算メモ                         2024/6/3 佐伯

自分用。デコーダは未来を見てはいけないので、i 行目では i+1 列目以降に -1e9 を入れる。

Q（4トークン × 2次元）
<<columns(Q)>>

K
<<columns(K)>>

V
<<columns(V)>>

QK^T
<<columns(scores)>>

√2 で割る
<<columns(scaled)>>

マスクをかける（未来 = -1e9）
<<columns(masked)>>

softmax（行ごと）
<<columns([["0.000" if c == "-1e9" else c for c in r] for r in weights])>>

出力 = 重み × V
<<columns(output)>>

以上。あとで PyTorch の結果と突き合わせること。
""")

page("04-seisho-ja.txt", "drawn brackets", "ja", "self-attention, Q K V given", direct=True, dv=3, pool=(0, 1, 2, 3), steps="scores0 scaled2 weights2 output2", carry="rounded", text=r"""
手書きノートの清書（第3回　アテンション）

黒板の行列をそのまま罫線で写しておく。クエリが3本、キーが3本、バリューは3次元。

<<drawn("Q", Q)>>

<<drawn("K", K)>>

<<drawn("V", V)>>

まず内積を全部とる。

<<drawn("QKᵀ", scores)>>

√d_k = √2 で割って小数第2位に丸める。

<<drawn("S", scaled)>>

行ごとにソフトマックス。先生いわく「横に足して1」。

<<drawn("A", weights)>>

最後に V を掛ける。

<<drawn("AV", output)>>

丸めた値で次の段を計算しているので、最後の桁は多少ずれるかもしれない（先生の許可ずみ）。
""")

page("05-jikken-ja.md", "one product per pair", "ja", "self-attention, Q K V given", n=2, m=2, direct=True, dv=2, pool=(-1, 0, 1, 2, 3), steps="scores0 scaled3 exponentials3 row_sum3 weights3 output3", carry="rounded", text=r"""
### 実験ノート 12 ページ

**目的**　アテンションを電卓だけで再現する。トークンは 2 つ。

**用意したベクトル**

- クエリ: q1 = <<vec(Q[0])>>、q2 = <<vec(Q[1])>>
- キー: k1 = <<vec(K[0])>>、k2 = <<vec(K[1])>>
- バリュー: v1 = <<vec(V[0])>>、v2 = <<vec(V[1])>>

**手順 1　内積**

- q1・k1 = <<dot(Q[0], K[0])>> = <<scores[0][0]>>
- q1・k2 = <<dot(Q[0], K[1])>> = <<scores[0][1]>>
- q2・k1 = <<dot(Q[1], K[0])>> = <<scores[1][0]>>
- q2・k2 = <<dot(Q[1], K[1])>> = <<scores[1][1]>>

**手順 2　√2 で割る**

- <<scores[0][0]>> / √2 = <<scaled[0][0]>>、<<scores[0][1]>> / √2 = <<scaled[0][1]>>
- <<scores[1][0]>> / √2 = <<scaled[1][0]>>、<<scores[1][1]>> / √2 = <<scaled[1][1]>>

**手順 3　指数をとって和で割る**

- 1 行目: exp(<<scaled[0][0]>>) = <<exponentials[0][0]>>、exp(<<scaled[0][1]>>) = <<exponentials[0][1]>>、合計 <<row_sum[0][0]>> → 重み <<weights[0][0]>>、<<weights[0][1]>>
- 2 行目: exp(<<scaled[1][0]>>) = <<exponentials[1][0]>>、exp(<<scaled[1][1]>>) = <<exponentials[1][1]>>、合計 <<row_sum[1][0]>> → 重み <<weights[1][0]>>、<<weights[1][1]>>

**手順 4　バリューの加重和**

- o1 = <<weights[0][0]>>×<<vec(V[0])>> + <<weights[0][1]>>×<<vec(V[1])>> = <<vec(output[0])>>
- o2 = <<weights[1][0]>>×<<vec(V[0])>> + <<weights[1][1]>>×<<vec(V[1])>> = <<vec(output[1])>>

**考察**　値の大きい内積ほど重みが大きく、大小関係は指数をとっても変わらないことを確認できた。
""")

page("06-homework-ja.txt", "full-width digits", "ja", "self-attention, Q K V given", direct=True, pool=(0, 1, 2), steps="scores0 scaled3 weights3 output3", slip="weights digits-swapped", goon="right", post=wide, text=r"""
深層学習入門　第６回　宿題

                                        情報工学科２年　ふじわら　まな

問１　次の Ｑ，Ｋ，Ｖ についてアテンションの出力を求めよ。

【解答】

Ｑ
<<columns(Q)>>

Ｋ
<<columns(K)>>

Ｖ
<<columns(V)>>

まず Ｑ と Ｋ の転置の積（スコア）を求めると、

<<columns(scores)>>

となる。次元は 2 なので √2 で割ると、

<<columns(scaled)>>

である。各行をソフトマックスすると重みは、

<<columns(weights)>>

となった。よって出力（重み × Ｖ）は、

<<columns(output)>>

である。

感想：電卓で exp を押しまちがえそうになりましたが、なんとか計算できました。
""")

page("06-kimatsu-ja.txt", "full-width digits", "ja", "self-attention", n=2, D=3, dk=2, pool=(0, 1, 2), wpool=(0, 1, -1, 2), steps="Q0 K0 V0 scores0 scaled2 weights2 output2", carry="rounded", post=wide, text=r"""
期末レポート（自然言語処理概論）　学籍番号は表紙に記載

課題：自分で小さな例を作り、自己注意の計算過程をすべて示しなさい。

１．入力
単語は「雨」「やむ」の２語で、埋め込みは３次元とした。
　雨　：<<vec(X[0])>>
　やむ：<<vec(X[1])>>

２．重み
　ＷＱ
<<columns(WQ, 6)>>
　ＷＫ
<<columns(WK, 6)>>
　ＷＶ
<<columns(WV, 6)>>

３．射影
　Ｑ = ＸＷＱ
<<columns(Q, 6)>>
　Ｋ = ＸＷＫ
<<columns(K, 6)>>
　Ｖ = ＸＷＶ
<<columns(V, 6)>>

４．スコア
　ＱＫの転置
<<columns(scores, 6)>>
　それを √2 で割ったもの
<<columns(scaled, 6)>>

５．注意の重み（行ごとのソフトマックス）
<<columns(weights, 6)>>

６．出力（重みとＶの積）
<<columns(output, 6)>>

７．まとめ
各段階で小数第２位に四捨五入し、その値を次の段階に用いた。行の和が１になることから、ソフトマックスの計算は妥当と考える。
""")

page("07-hyou-ja.tsv", "spreadsheet CSV", "ja", "cross-attention, Q K V given", n=2, m=3, dk=2, dv=2, direct=True, pool=(0, 1, 2, .5), steps="scores2 scaled4 exponentials4 row_sum4 weights4 output4", tok="質問1 質問2 東京 大阪 京都", text="""
アテンション計算シート\t作成：営業企画　村井
※質問2件、資料3件。√d_k=√2 で割る
クエリ\tq1\tq2
<<sheet(Q, tok[:2], sep="\t")>>
キー\tk1\tk2
<<sheet(K, tok[2:], sep="\t")>>
バリュー\tv1\tv2
<<sheet(V, tok[2:], sep="\t")>>
スコア\t東京\t大阪\t京都
<<sheet(scores, tok[:2], sep="\t")>>
スコア/√2\t東京\t大阪\t京都
<<sheet(scaled, tok[:2], sep="\t")>>
EXP\t東京\t大阪\t京都
<<sheet(exponentials, tok[:2], sep="\t")>>
行の合計\t合計
<<sheet(row_sum, tok[:2], sep="\t")>>
重み\t東京\t大阪\t京都
<<sheet(weights, tok[:2], sep="\t")>>
出力\to1\to2
<<sheet(output, tok[:2], sep="\t")>>
""")

page("08-kyouzai-ja.html", "HTML tables", "ja", "causal mask", n=4, mask="causal", direct=True, pool=(0, 1, 2, -1), hide="×", steps="scores0 masked3 weights3 output3", slip="masked mask-off-by-one", tok="今日 は 良い 天気", text=r"""
<!doctype html>
<html lang="ja">
<head>
<meta charset="utf-8">
<title>マスク付き自己注意（教材）</title>
</head>
<body>
<h1>マスク付き自己注意</h1>
<p>文章を左から生成するとき、まだ書いていない単語を見るわけにはいきません。そこで「未来」のマスに <b>×</b> を付け、重みを 0 にします。
自分自身と過去だけが見えます。</p>

<h2>与えられたもの</h2>
<p>Q</p>
<<html(Q, tok)>>
<p>K</p>
<<html(K, tok)>>
<p>V</p>
<<html(V, tok)>>

<h2>内積 QK<sup>T</sup></h2>
<<html(scores, tok, tok)>>

<h2>√2 で割り、未来を × にする</h2>
<<html(masked, tok, tok)>>

<h2>ソフトマックス</h2>
<p>× のマスは 0 とみなし、横方向に正規化します。</p>
<<html(weights, tok, tok)>>

<h2>出力</h2>
<p>重みと V の積です。</p>
<<html(output, tok)>>

<p>練習：最初の単語「今日」の出力が V の 1 行目とどう関係するか、説明してみましょう。</p>
</body>
</html>
""")

page("09-multihead-ja.ipynb", "Jupyter notebook", "ja", "multi-head", heads=2, n=3, D=4, dk=2, pool=(0, 1), wpool=(0, 1, -1), seed=1430, steps="Q0 K0 V0 scores0 scaled4 weights4 output4 concat4 projected4", post=notebook, text=r"""
%% md
# マルチヘッドアテンションを NumPy で確認する

3 トークン、`d_model = 4`、ヘッド数 2（各ヘッド 2 次元）です。ヘッドごとに $\mathrm{softmax}(QK^\top/\sqrt{2})V$ を計算し、
横に連結してから $W_O$ を掛けます。
%% code
import numpy as np
np.set_printoptions(precision=4, suppress=True)
<<numpy_code("X", X)>>
<<numpy_code("W_Q1", WQ1)>>
<<numpy_code("W_K1", WK1)>>
<<numpy_code("W_V1", WV1)>>
<<numpy_code("W_Q2", WQ2)>>
<<numpy_code("W_K2", WK2)>>
<<numpy_code("W_V2", WV2)>>
<<numpy_code("W_O", WO)>>

def softmax(s):
    e = np.exp(s)
    return e / e.sum(axis=-1, keepdims=True)
%% md
## ヘッド 1
%% code
Q1 = X @ W_Q1
Q1
%% out
<<npi(hd[0].Q)>>
%% code
K1 = X @ W_K1
K1
%% out
<<npi(hd[0].K)>>
%% code
V1 = X @ W_V1
V1
%% out
<<npi(hd[0].V)>>
%% code
scores1 = Q1 @ K1.T
scores1
%% out
<<npi(hd[0].scores)>>
%% code
scaled1 = scores1 / np.sqrt(2)
scaled1
%% out
<<npy(hd[0].scaled)>>
%% code
weights1 = softmax(scaled1)
weights1
%% out
<<npy(hd[0].weights)>>
%% code
output1 = weights1 @ V1
output1
%% out
<<npy(hd[0].output)>>
%% md
## ヘッド 2
%% code
Q2 = X @ W_Q2
Q2
%% out
<<npi(hd[1].Q)>>
%% code
K2 = X @ W_K2
K2
%% out
<<npi(hd[1].K)>>
%% code
V2 = X @ W_V2
V2
%% out
<<npi(hd[1].V)>>
%% code
scores2 = Q2 @ K2.T
scores2
%% out
<<npi(hd[1].scores)>>
%% code
scaled2 = scores2 / np.sqrt(2)
scaled2
%% out
<<npy(hd[1].scaled)>>
%% code
weights2 = softmax(scaled2)
weights2
%% out
<<npy(hd[1].weights)>>
%% code
output2 = weights2 @ V2
output2
%% out
<<npy(hd[1].output)>>
%% md
## 連結して射影
%% code
concat = np.hstack([output1, output2])
concat
%% out
<<npy(concat)>>
%% code
concat @ W_O
%% out
<<npy(projected)>>
""")

page("10-session-ja.txt", "NumPy REPL", "ja", "self-attention", bad="truncated", text=r"""
本番サイズで試したときのログです。行列が大きいので NumPy が勝手に省略しています（512 トークン、64 次元）。
あとで np.set_printoptions(threshold=np.inf) を付けて取り直します。

>>> Q
array([[ 0.1257, -0.1321,  0.6404, ...,  0.3511, -0.2003,  0.0418],
       [-0.5357,  0.3616,  1.304 , ...,  0.9006, -0.7213,  0.1175],
       [-0.7035, -1.2654, -0.6233, ...,  0.2211,  0.5506, -0.0917],
       ...,
       [ 0.4189, -0.3301,  0.1176, ..., -1.0294,  0.6622,  0.2558],
       [ 1.1092,  0.0743, -0.4521, ...,  0.1893, -0.3327,  0.7401]])
>>> K
array([[ 0.9409, -0.9919,  0.0115, ..., -0.4206,  0.2872, -0.5513],
       [-0.1184,  0.2217,  0.7384, ...,  0.0358,  0.1107,  0.4479],
       [ 0.3022, -0.7461, -0.2288, ...,  0.5814, -0.6603,  0.1042],
       ...,
       [ 0.6716,  0.1188, -0.9022, ...,  0.2713,  0.4416, -0.3819],
       [-0.2254,  0.5072,  0.3355, ..., -0.8801,  0.0926,  0.1637]])
>>> scores = Q @ K.T / 8
>>> scores
array([[ 0.0712, -0.3304,  0.1183, ...,  0.4021, -0.1175,  0.2208],
       [-0.2011,  0.0964,  0.3317, ..., -0.0488,  0.1762, -0.5093],
       [ 0.4406,  0.1823, -0.2795, ...,  0.3102, -0.0627,  0.0711],
       ...,
       [ 0.1338, -0.0921,  0.2564, ..., -0.3729,  0.0413,  0.1187],
       [-0.1746,  0.2885, -0.0396, ...,  0.0652,  0.3351, -0.2214]])
>>> softmax(scores)
array([[0.002 , 0.0013, 0.0021, ..., 0.0028, 0.0017, 0.0023],
       [0.0015, 0.0021, 0.0026, ..., 0.0018, 0.0023, 0.0011],
       [0.0029, 0.0022, 0.0014, ..., 0.0025, 0.0018, 0.002 ],
       ...,
       [0.0021, 0.0017, 0.0024, ..., 0.0013, 0.002 , 0.0021],
       [0.0016, 0.0025, 0.0018, ..., 0.002 , 0.0027, 0.0015]])
""")

page("11-torch-ja.md", "PyTorch REPL", "ja", "self-attention, Q K V given", direct=True, pool=(0, 1, 2, 3), steps="scores4 scaled4 weights4 output4", slip="weights softmax-over-columns", text=r"""
# PyTorch 入門ノート（その 5）：アテンションを 1 行ずつ

公式の `nn.MultiheadAttention` をいきなり使うと中身が見えないので、対話モードで 1 行ずつ打ってみました。行がクエリ、列がキーです。

```python
>>> import torch
>>> Q = torch.tensor(<<inline([[c if "." in c else c + "." for c in r] for r in Q])>>)
>>> K = torch.tensor(<<inline([[c if "." in c else c + "." for c in r] for r in K])>>)
>>> V = torch.tensor(<<inline([[c if "." in c else c + "." for c in r] for r in V])>>)
```

スコアは内積です。

```python
>>> scores = Q @ K.T
>>> scores
<<torch(scores)>>
```

キーの次元 2 の平方根で割ります。

```python
>>> scaled = scores / 2 ** 0.5
>>> scaled
<<torch(scaled)>>
```

クエリごとに合計が 1 になるようにソフトマックスをかけます。

```python
>>> weights = torch.softmax(scaled, dim=0)
>>> weights
<<torch(weights)>>
```

最後にバリューとの積を取れば完成です。

```python
>>> output = weights @ V
>>> output
<<torch(output)>>
```
""")

page("12-rsession-ja.txt", "R transcript", "ja", "self-attention, Q K V given", n=3, m=3, dk=3, dv=2, direct=True, pool=(0, 1, 2, -1), steps="scores0 scaled3 weights3 output3", tok="犬 が 走る", text=r"""
# 統計ゼミ　R で注意機構を計算した記録（R 4.2.2）
# 行が単語です。rowSums が 1 になることも確かめました。

> Q
<<rmat(Q)>>
> K
<<rmat(K)>>
> V
<<rmat(V)>>
> S <- Q %*% t(K)
> S
<<rmat(scores)>>
> S2 <- S / sqrt(3)   # d_k = 3
> round(S2, 3)
<<rmat(scaled)>>
> A <- exp(S2) / rowSums(exp(S2))
> round(A, 3)
<<rmat(weights)>>
> rowSums(A)
[1] 1 1 1
> round(A %*% V, 3)
<<rmat(output)>>
""")

page("13-matlab-ja.txt", "Octave transcript", "ja", "self-attention", D=3, pool=(0, 1, 2), wpool=(0, 1, -1), steps="Q0 K0 V0 scores0 scaled4 weights4 output4", slip="scores qk-swapped", text=r"""
MATLAB 演習 第 9 回　提出用コマンド履歴　（機械システム 3 年　岡）

行 i がクエリ i、列 j がキー j になるようにスコアを並べた。

>> X = [<<"; ".join(" ".join(r) for r in X)>>];
>> WQ = [<<"; ".join(" ".join(r) for r in WQ)>>];
>> WK = [<<"; ".join(" ".join(r) for r in WK)>>];
>> WV = [<<"; ".join(" ".join(r) for r in WV)>>];
>> Q = X*WQ

<<octave("Q", Q, 5)>>
>> K = X*WK

<<octave("K", K, 5)>>
>> V = X*WV

<<octave("V", V, 5)>>
>> scores = K*Q'

<<octave("scores", scores, 5)>>
>> scaled = scores/sqrt(2)

<<octave("scaled", scaled, 4)>>
>> weights = exp(scaled)./sum(exp(scaled),2)

<<octave("weights", weights, 4)>>
>> output = weights*V

<<octave("output", output, 4)>>
""")

page("14-julia-ja.txt", "Julia transcript", "ja", "self-attention", D=3, pool=(0, 1, 2), wpool=(0, 1, -1), steps="Q0 K0 V0 scores0 scaled3 weights3 output3", text=r"""
Julia で遊ぶ注意機構（Qiita 下書き）

REPL に貼るだけで動きます。表示は 3 桁に丸めていますが、変数の中身は丸めていません。

julia> X = [<<"; ".join(" ".join(r) for r in X)>>]
<<julia(X, "Int64")>>

julia> Wq = [<<"; ".join(" ".join(r) for r in WQ)>>]
<<julia(WQ, "Int64")>>

julia> Wk = [<<"; ".join(" ".join(r) for r in WK)>>]
<<julia(WK, "Int64")>>

julia> Wv = [<<"; ".join(" ".join(r) for r in WV)>>]
<<julia(WV, "Int64")>>

julia> Q = X * Wq
<<julia(Q, "Int64")>>

julia> K = X * Wk
<<julia(K, "Int64")>>

julia> V = X * Wv
<<julia(V, "Int64")>>

julia> scores = Q * K'
<<julia(scores, "Int64")>>

julia> scaled = scores / √2; round.(scaled, digits=3)
<<julia(scaled)>>

julia> weights = exp.(scaled) ./ sum(exp.(scaled), dims=2); round.(weights, digits=3)
<<julia(weights)>>

julia> output = weights * V; round.(output, digits=3)
<<julia(output)>>
""")

page("15-mma-ja.txt", "Mathematica transcript", "ja", "self-attention, Q K V given", direct=True, pool=(1, 2, 3, .5), steps="scores2 scaled4 weights4 output4", slip="weights softmax-without-exp", text=r"""
(* 卒研ノート：注意の重みを Mathematica で。クエリ・キー・バリューは 3 本ずつ。
   式は Softmax[Q.K^T / Sqrt[2]].V 。 *)

In[1]:= Q = <<mma(Q)>>;

In[2]:= K = <<mma(K)>>;

In[3]:= V = <<mma(V)>>;

In[4]:= scores = Q.Transpose[K]

Out[4]= <<mma(scores)>>

In[5]:= scaled = scores/Sqrt[2.]; Round[scaled, 0.0001]

Out[5]= <<mma(scaled)>>

In[6]:= weights = Map[Normalize[#, Total] &, scaled]; Round[weights, 0.0001]

Out[6]= <<mma(weights)>>

In[7]:= output = weights.V; Round[output, 0.0001]

Out[7]= <<mma(output)>>

(* 各行の和は 1。確率として読める。 *)
""")

page("16-ichi-ja.adoc", "AsciiDoc tables", "ja", "self-attention with positions", n=3, D=2, dk=2, pool=(0, 1, 2), wpool=(0, 1, -1), P=(.1, .2, .3, .5, .9), steps="positions1 Q1 K1 V1 scores2 scaled2 weights2 output2",
     slip="positions arithmetic-slip", tok="私 は 学生", text=r"""
= 位置情報を足してから注意を計算する
:lang: ja

「私は学生」と「学生は私」を区別するには、単語の埋め込みに位置の情報を足します。

== 埋め込み X

<<adoc(X, tok, ["x1", "x2"])>>

== 位置ベクトル P

<<adoc(P, ["0番目", "1番目", "2番目"], ["p1", "p2"])>>

== X + P

<<adoc(positions, tok, ["1", "2"])>>

== 射影

以下では X + P に重みを右から掛けます。

.W_Q
<<adoc(WQ)>>

.W_K
<<adoc(WK)>>

.W_V
<<adoc(WV)>>

.Q = (X + P) W_Q
<<adoc(Q, tok, ["1", "2"])>>

.K = (X + P) W_K
<<adoc(K, tok, ["1", "2"])>>

.V = (X + P) W_V
<<adoc(V, tok, ["1", "2"])>>

== スコアと重み

.QK^T^
<<adoc(scores, tok, tok)>>

.QK^T^ / √2
<<adoc(scaled, tok, tok)>>

.ソフトマックス
<<adoc(weights, tok, tok)>>

== 出力

.重みと V の積
<<adoc(output, tok, ["1", "2"])>>
""")

page("17-handbook-ja.rst", "reStructuredText tables", "ja", "cross-attention", n=2, m=3, D=3, pool=(0, 1, 2), wpool=(0, 1, -1), steps="Q0 K0 V0 scores0 scaled3 weights3 output3", tok="we eat 私達 は 食べる", text=r"""
交差注意の計算例
================

翻訳モデルのデコーダ（英語 2 トークン）が、エンコーダ（日本語 3 トークン）を参照する場面を扱う。社内ハンドブックの他の章と同じく、
行をトークンとする。

デコーダの状態 X

<<grid(X, tok[:2], ["1", "2", "3"], "")>>

エンコーダの状態 Y

<<grid(Y, tok[2:], ["1", "2", "3"], "")>>

重み行列 W_Q

<<grid(WQ)>>

重み行列 W_K

<<grid(WK)>>

重み行列 W_V

<<grid(WV)>>

射影
----

クエリだけがデコーダ側から作られる。

Q = X W_Q

<<grid(Q, tok[:2], ["1", "2"], "")>>

K = Y W_K

<<grid(K, tok[2:], ["1", "2"], "")>>

V = Y W_V

<<grid(V, tok[2:], ["1", "2"], "")>>

重み
----

内積 QK^T

<<grid(scores, tok[:2], tok[2:], "")>>

√2 で割った値

<<grid(scaled, tok[:2], tok[2:], "")>>

行ごとのソフトマックス

<<grid(weights, tok[:2], tok[2:], "")>>

出力
----

重み × V

<<grid(output, tok[:2], ["1", "2"], "")>>
""")

page("18-gakushu-ja.org", "org tables", "ja", "causal mask", n=4, mask="causal", direct=True, pool=(0, 1, 2), hide="", steps="scores0 scaled3 weights3 output3", slip="masked mask-ignored-row", tok="昔 々 ある 所", text=r"""
#+TITLE: 学習記録　マスク付き注意
#+AUTHOR: k.nomura

* 今日やったこと
GPT のマスクを表で確認した。未来のマスは空欄にしてある（重みゼロ）。

* 材料
** クエリ
<<org(Q, tok, ["q1", "q2"], "")>>

** キー
<<org(K, tok, ["k1", "k2"], "")>>

** バリュー
<<org(V, tok, ["v1", "v2"], "")>>

* スコア QK^T
マスクはまだかけていない。
<<org(scores, tok, tok, "")>>

* √2 で割る
<<org(scaled, tok, tok, "")>>

* 因果マスク＋ソフトマックス（重み）
<<org(weights, tok, tok, "")>>

* 出力（重み×V）
<<org(output, tok, ["o1", "o2"], "")>>

* 次にやること
- [ ] パディングのマスクも同じ表で書く
""")

page("19-jiten-ja.wiki", "MediaWiki tables", "ja", "self-attention", bad="missing-matrix", steps="Q0 K0 V0 weights3 output3", tok="本 を 読む", text=r"""
'''注意の重み'''とは、[[自己注意]]において各トークンが他のトークンをどの程度参照するかを表す係数である。

== 数値例 ==
入力 X
<<wiki(X, tok, ["1", "2", "3", "4"], "")>>

クエリの重み W<sub>Q</sub>
<<wiki(WQ)>>

キーとバリューの重みは[[変換器 (深層学習)/付録|付録]]の表のとおりとする。このとき、最終的な出力は次の表になる。

{| class="wikitable"
! トークン !! 出力
|-
| 本 || <<vec(output[0])>>
|-
| を || <<vec(output[1])>>
|-
| 読む || <<vec(output[2])>>
|}

{{要出典|途中の計算が省略されている}}
""")

page("20-chat-ja.txt", "chat message", "ja", "prose", bad="prose-only", text=r"""
[10:02] 小林: Transformer の論文読んだ？
[10:05] 三浦: 読んだよ。エンコーダ 6 層、デコーダ 6 層で、d_model は 512、ヘッドは 8 個
[10:05] 三浦: だから 1 ヘッドあたり 64 次元ね
[10:07] 小林: 学習は GPU 8 枚で 3.5 日だっけ
[10:08] 三浦: 大きいほうがそれ。英独で BLEU 28.4、英仏だと 41.8
[10:09] 小林: アテンションって結局なにをしてるの
[10:11] 三浦: クエリとキーの内積をルートで割って softmax して、バリューの加重平均をとるだけ
[10:12] 小林: 文章で言われると簡単そう
[10:13] 三浦: 数字で追うともっとわかるから、こんど時間あるときにホワイトボードでやろう
[10:13] 小林: おねがいします🙏 金曜の 15 時でどう？
""")

page("21-chiebukuro-ja.md", "forum question", "ja", "self-attention, Q K V given", n=2, m=3, dv=3, direct=True, pool=(0, 1, 2, -1), steps="scores0 scaled3 exponentials3 row_sum3 weights3 output3", text=r"""
## 【質問】アテンションの計算、これで合っていますか？

独学でディープラーニングを勉強している文系の社会人です。本の例題には答えがないので、自分で解いたものを見ていただけないでしょうか。

問題の設定は、クエリ 2 個、キーとバリューが 3 個です（d_k = 2）。

```
Q = <<inline(Q)>>
K = <<inline(K)>>
V = <<inline(V)>>
```

私の計算：

1. 内積 QK^T

```
<<columns(scores, 0)>>
```

2. √2 で割る

```
<<columns(scaled, 0)>>
```

3. exp をとる

```
<<columns(exponentials, 0)>>
```

4. 行の合計

```
<<columns(row_sum, 0)>>
```

5. 合計で割って重みにする

```
<<columns(weights, 0)>>
```

6. V を掛けて出力

```
<<columns(output, 0)>>
```

電卓アプリの値をメモリーに入れたまま計算したので、途中では丸めていません。よろしくお願いいたします。
""")

page("22-slides-ja.md", "slides", "ja", "self-attention, Q K V given", direct=True, pool=(0, 1, 2, -1), steps="scores0 scaled2 weights2 output2", carry="rounded", slip="weights softmax-one-row", tok="朝 昼 夜", text=r"""
---
marp: true
theme: gaia
---

# 5 分でわかる注意機構

LT 会 #23　@yuki_ml

---

## 登場人物

- クエリ
  - 朝: <<vec(Q[0], "[]")>>
  - 昼: <<vec(Q[1], "[]")>>
  - 夜: <<vec(Q[2], "[]")>>
- キー
  - 朝: <<vec(K[0], "[]")>>
  - 昼: <<vec(K[1], "[]")>>
  - 夜: <<vec(K[2], "[]")>>
- バリュー
  - 朝: <<vec(V[0], "[]")>>
  - 昼: <<vec(V[1], "[]")>>
  - 夜: <<vec(V[2], "[]")>>

---

## ① スコア（内積）

- 朝: <<vec(scores[0], "[]")>>
- 昼: <<vec(scores[1], "[]")>>
- 夜: <<vec(scores[2], "[]")>>

---

## ② √2 で割る

- 朝: <<vec(scaled[0], "[]")>>
- 昼: <<vec(scaled[1], "[]")>>
- 夜: <<vec(scaled[2], "[]")>>

---

## ③ softmax で重みにする

- 朝: <<vec(weights[0], "[]")>>
- 昼: <<vec(weights[1], "[]")>>
- 夜: <<vec(weights[2], "[]")>>

---

## ④ 出力（重み × バリュー）

- 朝: <<vec(output[0], "[]")>>
- 昼: <<vec(output[1], "[]")>>
- 夜: <<vec(output[2], "[]")>>

---

# ご清聴ありがとうございました
""")

page("23-kyoushitsu-ja.md", "one row per token with q, k, v", "ja", "self-attention, Q K V given", direct=True, dk=3, dv=2, pool=(0, 1, 2, -1), steps="scores0 scaled2 weights3 output2", slip="scores sign-slip", goon="right", tok="太郎 が 笑う", text=r"""
## 高校生のための AI 教室　配布プリント

それぞれの単語は、「たずねる向き」q、「見出し」k、「中身」v という 3 つのベクトルを持っています。

| 単語 | q | k | v |
|---|---|---|---|
<<"\n".join(f"| {t} | [{' '.join(q)}] | [{' '.join(k)}] | [{' '.join(v)}] |" for t, q, k, v in zip(tok, Q, K, V))>>

数学 B で習った内積を使って、どの見出しがどの質問に合うかを調べます。

| 内積 | k（太郎） | k（が） | k（笑う） |
|---|---|---|---|
<<"\n".join(f"| q（{t}） | " + " | ".join(r) + " |" for t, r in zip(tok, scores))>>

ベクトルが 3 次元なので √3 でわります。

| √3 でわった値 | k（太郎） | k（が） | k（笑う） |
|---|---|---|---|
<<"\n".join(f"| q（{t}） | " + " | ".join(r) + " |" for t, r in zip(tok, scaled))>>

指数関数を使って、横の合計が 1 になるように直します。これが「注意の重み」です。

| 重み | 太郎 | が | 笑う |
|---|---|---|---|
<<"\n".join(f"| {t} | " + " | ".join(r) + " |" for t, r in zip(tok, weights))>>

重みをつけて v を足し合わせると、新しいベクトルができます。

| 出力 | 1 | 2 |
|---|---|---|
<<"\n".join(f"| {t} | " + " | ".join(r) + " |" for t, r in zip(tok, output))>>
""")

page("24-monogatari-ja.md", "narrative, one token", "ja", "self-attention, one query", only=1, D=3, pool=(0, 1, 2), wpool=(0, 1, -1), steps="Q0 K0 V0 scores0 scaled3 weights3 output3", tok="花 が 咲く", text=r"""
# 「が」の一日

助詞の「が」は、自分だけでは意味がありません。前後の単語から少しずつ意味を分けてもらいます。その様子を追いかけてみましょう。

朝、三つの単語がベクトルとして届きます。「花」は <<vec(X[0])>>、「が」は <<vec(X[1])>>、「咲く」は <<vec(X[2])>> です。
この層には三つの行列が置いてあります。

$$
W_Q = <<tex(WQ)>>,\quad
W_K = <<tex(WK)>>,\quad
W_V = <<tex(WV)>>
$$

「が」は自分のベクトルに $W_Q$ を掛けてクエリ q = <<vec(Q[1])>> を作ります。
同じころ、三つの単語はそれぞれキーを掲げます。「花」のキーは <<vec(K[0])>>、「が」のキーは <<vec(K[1])>>、「咲く」のキーは <<vec(K[2])>> です。
分けてあげる中身、つまりバリューは、「花」が <<vec(V[0])>>、「が」が <<vec(V[1])>>、「咲く」が <<vec(V[2])>> です。

昼、「が」はクエリを持って各キーとの内積をとります。「花」とは <<scores[1][0]>>、「が」（自分）とは <<scores[1][1]>>、「咲く」とは <<scores[1][2]>> になりました。
√2 で割ると、順に <<scaled[1][0]>>、<<scaled[1][1]>>、<<scaled[1][2]>> です。

夕方、ソフトマックスで割合に直します。「花」<<weights[1][0]>>、「が」<<weights[1][1]>>、「咲く」<<weights[1][2]>>。

夜、その割合でバリューを混ぜます。

<<weights[1][0]>> × <<vec(V[0])>> + <<weights[1][1]>> × <<vec(V[1])>> + <<weights[1][2]>> × <<vec(V[2])>> = <<vec(output[1])>>

これが、「花」と「咲く」に挟まれた「が」の新しい意味です。おやすみなさい。
""")

page("25-percent-ja.md", "weights in percent", "ja", "self-attention", D=3, pool=(0, 1, 2), wpool=(0, 1, -1), steps="Q0 K0 V0 scores0 weights%1 output3", slip="scaled no-scaling", tok="先生 に 聞く", text=r"""
# データ分析チーム週報コラム：注意の「％」を読む

ヒートマップの数字は百分率で書かれることが多いですね。今回は小さな例で、あの％がどこから来るのかを追います。

入力 X は次のとおりです。

<<pipe(X, tok, ["1", "2", "3"])>>

W_Q：

<<pipe(WQ)>>

W_K：

<<pipe(WK)>>

W_V：

<<pipe(WV)>>

**クエリ Q**

<<pipe(Q, tok, ["1", "2"])>>

**キー K**

<<pipe(K, tok, ["1", "2"])>>

**バリュー V**

<<pipe(V, tok, ["1", "2"])>>

**スコア QKᵀ**

<<pipe(scores, tok, tok)>>

スコアを √d_k = √2 で割ってからソフトマックスをかけると、注意の重みになります（単位は％）。

<<pipe([[c + "%" for c in r] for r in weights], tok, tok)>>

**出力**（重み × V）

<<pipe(output, tok, ["1", "2"])>>

四捨五入のため、横の合計がちょうど 100% にならないことがあります。
""")

page("27-tochuushiki-ja.md", "every sum shown", "ja", "self-attention", n=2, D=3, dk=2, pool=(0, 1, 2), wpool=(0, 1, -1, 2), steps="Q0 K0 V0 scores0 scaled3 weights3 output3", slip="V sign-slip", carry="rounded", text=r"""
# 途中式を省略しない自己注意

通信添削の解答例です。途中式はすべて書きましょう。（×はかけ算、丸め方は小数第 3 位まで）

**与えられた値**

x1 = <<vec(X[0])>>、x2 = <<vec(X[1])>>

$W_Q = <<tex(WQ, "pmatrix")>>$、$W_K = <<tex(WK, "pmatrix")>>$、$W_V = <<tex(WV, "pmatrix")>>$

**(1) クエリ**

<<"\n".join(f"- Q[{i+1},{j+1}] = {dot(X[i], col(WQ, j))} = {Q[i][j]}" for i in range(2) for j in range(2))>>

**(2) キー**

<<"\n".join(f"- K[{i+1},{j+1}] = {dot(X[i], col(WK, j))} = {K[i][j]}" for i in range(2) for j in range(2))>>

**(3) バリュー**

<<"\n".join(f"- V[{i+1},{j+1}] = {dot(X[i], col(WV, j))} = {V[i][j]}" for i in range(2) for j in range(2))>>

**(4) スコア**（クエリとキーの内積）

<<"\n".join(f"- q{i+1}・k{j+1} = {dot(Q[i], K[j])} = {scores[i][j]}" for i in range(2) for j in range(2))>>

**(5) √2 で割る**

<<"\n".join(f"- {scores[i][j]} ÷ √2 = {scaled[i][j]}" for i in range(2) for j in range(2))>>

**(6) ソフトマックス**

- 1 番目の単語：<<weights[0][0]>>、<<weights[0][1]>>
- 2 番目の単語：<<weights[1][0]>>、<<weights[1][1]>>

**(7) 出力**

<<"\n".join(f"- z{i+1} の第 {j+1} 成分 = {dot(weights[i], col(V, j))} = {output[i][j]}" for i in range(2) for j in range(2))>>
""")

page("28-bunsuu-ja.md", "fractions and roots", "ja", "self-attention, Q K V given", n=2, m=3, dk=3, dv=2, direct=True, pool=(0, .5, 1, 1.5, 2, .25), steps="scoresF scaledR weights4 output4", text=r"""
# 分数と平方根のまま計算する注意機構

数学科の演習なので、指数関数が出てくるまでは小数を使わないことにします。$d_k = 3$ です。

$$Q = <<tex([[("\\frac{%d}{%d}" % Fraction(float(c)).as_integer_ratio()) if "." in c else c for c in r] for r in Q], "pmatrix")>>$$

$$K = <<tex([[("\\frac{%d}{%d}" % Fraction(float(c)).as_integer_ratio()) if "." in c else c for c in r] for r in K], "pmatrix")>>$$

$$V = <<tex([[("\\frac{%d}{%d}" % Fraction(float(c)).as_integer_ratio()) if "." in c else c for c in r] for r in V], "pmatrix")>>$$

内積を並べると

$$QK^{\top} = <<tex([["\\frac{%s}{%s}" % tuple(c.split("/")) if "/" in c else c for c in r] for r in scores], "pmatrix")>>$$

$\sqrt{3}$ で割って

$$\frac{QK^{\top}}{\sqrt{3}} = <<tex([[re.sub(r"(.+)/\(?(\d*)√3\)?", r"\\frac{\1}{\2\\sqrt{3}}", c) for c in r] for r in scaled], "pmatrix")>>$$

ここから先は小数第 4 位まで求めます。行ごとのソフトマックスは

$$A = <<tex(weights, "pmatrix")>>$$

であり、求める出力は

$$AV = <<tex(output, "pmatrix")>>$$

です。
""")

page("29-heads-ja.txt", "several heads with concat and W_O", "ja", "multi-head", heads=2, n=2, m=2, D=4, dk=2, pool=(0, 1, 2), wpool=(0, 1, -1), seed=1060, steps="Q0 K0 V0 scores0 scaled3 weights3 output3 concat3 projected3", text=r"""
マルチヘッド注意　板書用メモ（担当：中川）

トークン2個、d_model = 4、ヘッド2個、d_k = 2。
値は計算機で丸めずに求め、黒板には小数第3位まで書く。

X
<<columns(X)>>

■ ヘッド1
W_Q1
<<columns(WQ1)>>
W_K1
<<columns(WK1)>>
W_V1
<<columns(WV1)>>

Q1 = X W_Q1
<<columns(hd[0].Q)>>
K1 = X W_K1
<<columns(hd[0].K)>>
V1 = X W_V1
<<columns(hd[0].V)>>
Q1 K1^T
<<columns(hd[0].scores)>>
÷√2
<<columns(hd[0].scaled)>>
softmax
<<columns(hd[0].weights)>>
出力1
<<columns(hd[0].output)>>

■ ヘッド2
W_Q2
<<columns(WQ2)>>
W_K2
<<columns(WK2)>>
W_V2
<<columns(WV2)>>

Q2 = X W_Q2
<<columns(hd[1].Q)>>
K2 = X W_K2
<<columns(hd[1].K)>>
V2 = X W_V2
<<columns(hd[1].V)>>
Q2 K2^T
<<columns(hd[1].scores)>>
÷√2
<<columns(hd[1].scaled)>>
softmax
<<columns(hd[1].weights)>>
出力2
<<columns(hd[1].output)>>

■ 連結（出力1と出力2を横に並べる）
<<columns(concat)>>

W_O
<<columns(WO)>>

■ 連結 × W_O
<<columns(projected)>>
""")

page("30-luong-ja.txt", "additive and general scores", "ja", "general, cross-attention", score="general", scale=False, n=2, m=3, D=3, pool=(0, 1, .5, -1), wpool=(0, 1, -1, .5), steps="scores3 weights3 output3", slip="scores transposed-weight", text=r"""
Luong らの general スコア　数値例

スコアは  score(s_i, h_j) = s_i W_a h_j^T  （s_i, h_j は行ベクトル）。
この方式では平方根による割り算は行わない。

デコーダの隠れ状態 S（2時刻）
<<columns(X)>>

エンコーダの隠れ状態 H（3単語）
<<columns(Y)>>

重み W_a
<<columns(Wa)>>

スコア S W_a H^T
<<columns(scores)>>

アライメント（行ごとの softmax）
<<columns(weights)>>

文脈ベクトル（アライメント × H）
<<columns(output)>>

文脈ベクトルは、この後 s_i と結合されて予測に使われる。
""")

page("31-retsu-ja.md", "column convention", "ja", "self-attention, columns", columns=True, n=2, D=3, dk=2, pool=(0, 1, 2), wpool=(0, 1, -1, 2), steps="Q0 K0 V0 scores0 scaled3 weights3 output3", text=r"""
# 列ベクトル流の自己注意

線形代数の教科書に合わせて、単語を**列**に並べる流儀で書きます。重みは左から掛けるので $Q = W_Q X$ です。
スコアは $K^{\top} Q$ とし、第 $j$ 列が第 $j$ クエリに対応します。ソフトマックスは列ごとにかけます。

入力（2 単語、3 次元）

$$X = <<tex(T(X), "pmatrix")>>$$

重み

$$W_Q = <<tex(T(WQ), "pmatrix")>>,\quad W_K = <<tex(T(WK), "pmatrix")>>,\quad W_V = <<tex(T(WV), "pmatrix")>>$$

射影

$$Q = W_Q X = <<tex(T(Q), "pmatrix")>>,\quad K = W_K X = <<tex(T(K), "pmatrix")>>,\quad V = W_V X = <<tex(T(V), "pmatrix")>>$$

スコア

$$K^{\top} Q = <<tex(T(scores), "pmatrix")>>$$

$\sqrt{2}$ で割ったもの

$$K^{\top} Q / \sqrt{2} = <<tex(T(scaled), "pmatrix")>>$$

列ごとのソフトマックス

$$A = <<tex(T(weights), "pmatrix")>>$$

出力

$$V A = <<tex(T(output), "pmatrix")>>$$

各列の和が 1 になっていることを確かめてください。
""")
