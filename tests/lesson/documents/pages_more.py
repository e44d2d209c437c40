"""Twelve more documents, in layouts that the others do not have, with the numbers of everyday prose: dates, sizes, pages, points."""
from generate import page

page("32-typst-en.typ", "Typst math", "en", "self-attention", D=3, pool=(0, 1, 2), wpool=(0, 1, -1), steps="Q0 K0 V0 scores0 scaled3 weights3 output3", text=r"""
#set page(paper: "a4", margin: 2cm)
#set text(font: "New Computer Modern", size: 11pt)

= Attention on one page

Handout 4 for the seminar of 12 March 2024, room 2.114. The reader knows matrices (chapter 2 of the notes) and nothing else.

We take three tokens with embeddings of dimension 3; queries, keys and values have $d_k = 2$ components.

$ X = <<typ(X)>> $

$ W_Q = <<typ(WQ)>>, quad W_K = <<typ(WK)>>, quad W_V = <<typ(WV)>> $

== Projections

$ Q = X W_Q = <<typ(Q)>>, quad K = X W_K = <<typ(K)>>, quad V = X W_V = <<typ(V)>> $

== Scores

All 9 inner products form the matrix

$ S = Q K^top = <<typ(scores)>> $

and since $d_k = 2$ we divide by $sqrt(2) approx 1.414$:

$ S / sqrt(d_k) = <<typ(scaled)>> $

== Weights and output

The softmax of each row gives

$ A = op("softmax")(S / sqrt(d_k)) = <<typ(weights)>> $

so the output of the layer is

$ O = A V = <<typ(output)>>. $

Exercise 3 on page 7 asks for the same with 2 heads.
""")

page("33-mail-en.txt", "quoted e-mail", "en", "self-attention, Q K V given", direct=True, pool=(0, 1, 2, -1), steps="scores0 scaled2 weights2 output2", carry="rounded", slip="scores sign-slip",
     text=r"""
From: Priya N. <priya@example.org>
To: reading-group@example.org
Date: Tue, 5 Mar 2024 18:22:07 +0100
Subject: Re: Re: homework 4, question 2

Hi Tom,

my comments are between your lines. I had about 20 minutes on the train, so no promises.

> We are given 3 queries, 3 keys and 3 values (section 3.2.1 of the paper, d_k = 2):
>
>     Q =
<<quoted(Q)>>
>
>     K =
<<quoted(K)>>
>
>     V =
<<quoted(V)>>

Yes, same as on my sheet.

> The scores are Q K^T, so 9 dot products:
>
<<quoted(scores)>>

I did only the first 2 of them again.

> Then I divide by sqrt(2), which is 1.41 on my calculator,
>
<<quoted(scaled)>>
>
> and take the softmax of every row:
>
<<quoted(weights)>>

Each row should sum to 1. Did you check that?

> Last step, weights times V:
>
<<quoted(output)>>

See you on Thursday at 14:30 in room 305!
Priya
""")

page("34-sheet-en.tsv", "spreadsheet paste", "en", "self-attention", D=3, pool=(0, 1, 2), wpool=(0, 1, -1), steps="Q0 K0 V0 scores0 scaled4 weights4 output4", slip="scaled scaled-by-dk",
     tok="mon tue wed", text="\n".join(r"""
Attention toy<TAB><TAB><TAB>v3, saved 2024-02-11
Inputs X<TAB>a<TAB>b<TAB>c
<<sheet(X, tok, sep="\t")>>

W_Q<TAB>1<TAB>2
<<sheet(WQ, ["a", "b", "c"], sep="\t")>>

W_K<TAB>1<TAB>2
<<sheet(WK, ["a", "b", "c"], sep="\t")>>

W_V<TAB>1<TAB>2
<<sheet(WV, ["a", "b", "c"], sep="\t")>>

Q = MMULT(X;W_Q)<TAB>q1<TAB>q2
<<sheet(Q, tok, sep="\t")>>

K = MMULT(X;W_K)<TAB>k1<TAB>k2
<<sheet(K, tok, sep="\t")>>

V = MMULT(X;W_V)<TAB>v1<TAB>v2
<<sheet(V, tok, sep="\t")>>

Scores = MMULT(Q;TRANSPOSE(K))<TAB>mon<TAB>tue<TAB>wed
<<sheet(scores, tok, sep="\t")>>

Scores / SQRT(2)<TAB>mon<TAB>tue<TAB>wed
<<sheet(scaled, tok, sep="\t")>>

Softmax by row<TAB>mon<TAB>tue<TAB>wed
<<sheet(weights, tok, sep="\t")>>

Output = MMULT(weights;V)<TAB>o1<TAB>o2
<<sheet(output, tok, sep="\t")>>
""".splitlines()).replace("<TAB>", "\t"))

page("35-shiken-ja.txt", "exam sheet", "ja", "self-attention, Q K V given", direct=True, pool=(0, 1, 2, -1), steps="scores0 scaled2 weights2 output2", carry="rounded", text=r"""
２０２４年度　前期末試験　自然言語処理　解答例
（試験時間 90 分，配点 100 点，持ち込み可）

問題 3 （30 点）　次のクエリ Q，キー K，バリュー V について，以下の問いに答えよ．

Q =
<<columns(Q)>>

K =
<<columns(K)>>

V =
<<columns(V)>>

(1) スコア行列 QK^T を求めよ．（5 点）

　解答
<<columns(scores)>>

(2) d_k = 2 である．(1) の結果を √2 で割れ．小数第 2 位まで求めること．（5 点）

　解答
<<columns(scaled)>>

(3) 各行にソフトマックスを適用し，注意の重みを求めよ．（10 点）

　解答
<<columns(weights)>>

(4) 出力を求めよ．（10 点）

　解答
<<columns(output)>>

採点基準：(3) で行の和が 1 にならない場合は 3 点減点．平均点は 61.5 点であった．
""")

page("36-blog-en.md", "cells in sentences", "en", "self-attention, Q K V given", direct=True, pool=(0, 1, 2), steps="scores0 scaled2 weights2 output2", carry="rounded", slip="weights digits-swapped",
     goon="right", tok="milk bread eggs", text=r"""
# Attention at the breakfast table

*Posted on 3 June 2023, about 4 minutes to read. 12 comments.*

Forget the formula for 5 minutes. There are three things on the table: milk, bread and eggs. Each of them has a query, a key and a value, with 2 numbers each.

The query of milk is <<vec(Q[0])>>, that of bread is <<vec(Q[1])>> and that of eggs is <<vec(Q[2])>>. The key of milk is <<vec(K[0])>>, that of bread is <<vec(K[1])>> and
that of eggs is <<vec(K[2])>>. The value of milk is <<vec(V[0])>>, that of bread is <<vec(V[1])>> and that of eggs is <<vec(V[2])>>.

A score is the dot product of a query with a key. For milk the scores are <<scores[0][0]>>, <<scores[0][1]>> and <<scores[0][2]>>. For bread the scores are <<scores[1][0]>>,
<<scores[1][1]>> and <<scores[1][2]>>. For eggs the scores are <<scores[2][0]>>, <<scores[2][1]>> and <<scores[2][2]>>.

Divided by the square root of 2, milk's scores become <<scaled[0][0]>>, <<scaled[0][1]>> and <<scaled[0][2]>>. Bread's scores become <<scaled[1][0]>>, <<scaled[1][1]>> and
<<scaled[1][2]>>. The scores of eggs become <<scaled[2][0]>>, <<scaled[2][1]>> and <<scaled[2][2]>>.

Softmax turns them into weights: for milk they are <<weights[0][0]>>, <<weights[0][1]>> and <<weights[0][2]>>, for bread they are <<weights[1][0]>>, <<weights[1][1]>> and
<<weights[1][2]>>, and for eggs they are <<weights[2][0]>>, <<weights[2][1]>> and <<weights[2][2]>>.

The outputs are the weighted means of the values: <<vec(output[0])>> for milk, <<vec(output[1])>> for bread and <<vec(output[2])>> for eggs.

In GPT-3 the same happens with 96 heads of 128 numbers in each of its 96 layers. But it is the same breakfast.
""")

page("37-vectors-en.tex", "column vectors in LaTeX", "en", "self-attention, Q K V given", direct=True, n=2, m=2, dk=2, dv=3, pool=(0, 1, 2, 3), steps="scores0 scaled3 weights3 output3", text=r"""
\section{An example with two tokens}\label{sec:two}
Following~\cite[p.~4]{vaswani2017} we compute equation~(1) by hand. Let
\[
q_1 = <<tex([[x] for x in Q[0]], "pmatrix")>>,\quad
q_2 = <<tex([[x] for x in Q[1]], "pmatrix")>>,\quad
k_1 = <<tex([[x] for x in K[0]], "pmatrix")>>,\quad
k_2 = <<tex([[x] for x in K[1]], "pmatrix")>>
\]
be the queries and keys, and
\[
v_1 = <<tex([[x] for x in V[0]], "pmatrix")>>,\quad
v_2 = <<tex([[x] for x in V[1]], "pmatrix")>>
\]
the values. The four inner products are
\begin{align}
q_1^\top k_1 &= <<scores[0][0]>>, & q_1^\top k_2 &= <<scores[0][1]>>, \\
q_2^\top k_1 &= <<scores[1][0]>>, & q_2^\top k_2 &= <<scores[1][1]>>.
\end{align}
After division by $\sqrt{d_k} = \sqrt{2}$ they are
\[ <<scaled[0][0]>>,\quad <<scaled[0][1]>> \qquad\text{and}\qquad <<scaled[1][0]>>,\quad <<scaled[1][1]>>. \]
The softmax gives the weights $\alpha_{11} = <<weights[0][0]>>$, $\alpha_{12} = <<weights[0][1]>>$ for the first token and
$\alpha_{21} = <<weights[1][0]>>$, $\alpha_{22} = <<weights[1][1]>>$ for the second, hence the outputs are
\[
z_1 = \alpha_{11} v_1 + \alpha_{12} v_2 = <<tex([[x] for x in output[0]], "pmatrix")>>,\qquad
z_2 = \alpha_{21} v_1 + \alpha_{22} v_2 = <<tex([[x] for x in output[1]], "pmatrix")>>.
\]
Figure~3 on page~12 shows both. In 2017 the authors used $8$ heads with $d_k = 64$.
""")

page("38-heads-ja.md", "two heads under headings", "ja", "multi-head", heads=2, n=2, m=2, D=4, dk=2, pool=(0, 1, 2), wpool=(0, 1, -1), steps="Q0 K0 V0 scores0 scaled2 weights3 output3 concat3 projected3",
     slip="scores@1 arithmetic-slip", goon="right", text=r"""
# 2 ヘッドの注意を手で計算する（第 5 回ゼミ資料，2024 年 4 月 18 日）

埋め込みは 4 次元，ヘッドは 2 個なので 1 ヘッドあたり d_k = 2 です。文献 [1] の 3.2.2 節を参照してください。

入力
$$X = <<tex(X)>>$$

## ヘッド 1

$$W^Q_1 = <<tex(WQ1)>>,\ W^K_1 = <<tex(WK1)>>,\ W^V_1 = <<tex(WV1)>>$$
$$Q_1 = XW^Q_1 = <<tex(hd[0].Q)>>,\ K_1 = XW^K_1 = <<tex(hd[0].K)>>,\ V_1 = XW^V_1 = <<tex(hd[0].V)>>$$

スコア
$$Q_1K_1^\top = <<tex(hd[0].scores)>>$$
√2 ≈ 1.41 で割る
$$<<tex(hd[0].scaled)>>$$
ソフトマックス
$$A_1 = <<tex(hd[0].weights)>>$$
出力
$$A_1V_1 = <<tex(hd[0].output)>>$$

## ヘッド 2

$$W^Q_2 = <<tex(WQ2)>>,\ W^K_2 = <<tex(WK2)>>,\ W^V_2 = <<tex(WV2)>>$$
$$Q_2 = XW^Q_2 = <<tex(hd[1].Q)>>,\ K_2 = XW^K_2 = <<tex(hd[1].K)>>,\ V_2 = XW^V_2 = <<tex(hd[1].V)>>$$

スコア
$$Q_2K_2^\top = <<tex(hd[1].scores)>>$$
√2 ≈ 1.41 で割る
$$<<tex(hd[1].scaled)>>$$
ソフトマックス
$$A_2 = <<tex(hd[1].weights)>>$$
出力
$$A_2V_2 = <<tex(hd[1].output)>>$$

## 結合

2 つを横に並べて 4 列にします。
$$\mathrm{Concat} = <<tex(concat)>>$$
出力の重みは
$$W^O = <<tex(WO)>>$$
なので
$$\mathrm{Concat}\,W^O = <<tex(projected)>>$$

論文では 8 ヘッド，d_model = 512 です。次回（第 6 回）は 25 日です。
""")

page("39-causal-en.md", "bullets with inline code", "en", "causal mask", n=4, mask="causal", direct=True, hide="-", pool=(0, 1, 2, -1), steps="scores0 scaled2 weights2 output2", carry="rounded",
     tok="I like green tea", text=r"""
## Causal attention, 4 tokens, no code

> TL;DR: token 3 may look at tokens 1, 2 and 3, never at token 4. Reading time: 6 min.

The sentence has 4 tokens: *I like green tea*. Suppose somebody has trained the model for 10 epochs and gives us 2-dimensional vectors.

**Queries**

<<"\n".join(f"- {t}: `{', '.join(r)}`" for t, r in zip(tok, Q))>>

**Keys**

<<"\n".join(f"- {t}: `{', '.join(r)}`" for t, r in zip(tok, K))>>

**Values**

<<"\n".join(f"- {t}: `{', '.join(r)}`" for t, r in zip(tok, V))>>

**Scores** (query · key; we need only 10 of the 16 because of the mask, but here are all)

<<"\n".join(f"- {t}: `{', '.join(r)}`" for t, r in zip(tok, scores))>>

**Scaled** by 1/√2 ≈ 0.707

<<"\n".join(f"- {t}: `{', '.join(r)}`" for t, r in zip(tok, scaled))>>

**Weights** (softmax over what is not in the future; `-` is masked)

<<"\n".join(f"- {t}: `{', '.join(r)}`" for t, r in zip(tok, weights))>>

**Outputs**

<<"\n".join(f"- {t}: `{', '.join(r)}`" for t, r in zip(tok, output))>>

The first token attends only to itself, so its weight is 1 and its output is its own value. That is 1 reason why the first position is special (see Xiao et al., 2023, Fig. 2).
""")

page("40-koushi-ja.tex", "LaTeX arrays", "ja", "cross-attention, Q K V given", n=2, m=3, dk=4, dv=2, direct=True, pool=(0, 1, 2, -1), steps="scores0 scaled2 weights3 output3", slip="output rounding-too-coarse",
     text=r"""
\documentclass[a4paper,12pt]{ltjsarticle}
\begin{document}
\section{交差注意の計算例}
デコーダの 2 語がエンコーダの 3 語を参照する．次元は $d_k=4$，$d_v=2$ とする（講義ノート第 8 章，p.~131 参照）．

クエリは
\[ Q=\left(\begin{array}{rrrr} <<rows(Q)>> \end{array}\right), \]
キーとバリューは
\[ K=\left(\begin{array}{rrrr} <<rows(K)>> \end{array}\right),\quad V=\left(\begin{array}{rr} <<rows(V)>> \end{array}\right) \]
である．内積は
\[ QK^{\top}=\left(\begin{array}{rrr} <<rows(scores)>> \end{array}\right). \]
$\sqrt{4}=2$ で割ると
\[ \frac{QK^{\top}}{\sqrt{d_k}}=\left(\begin{array}{rrr} <<rows(scaled)>> \end{array}\right). \]
行ごとにソフトマックスをとって
\[ A=\left(\begin{array}{rrr} <<rows(weights)>> \end{array}\right). \]
最後に
\[ AV=\left(\begin{array}{rr} <<rows(output)>> \end{array}\right). \]
計算は 2024 年 5 月に電卓で行った．誤差は 0.001 以下のはずである．
\end{document}
""")

page("41-config-en.yaml", "YAML", "en", "self-attention", D=3, pool=(0, 1, 2), wpool=(0, 1, -1, 2), steps="Q0 K0 V0 scores0 scaled4 weights4 output4", slip="V wrong-row-or-column", text=r"""
# golden values for the unit test of attention (issue 118, 2023-11-02)
version: 2
tolerance: 0.0001
sizes: {tokens: 3, d_model: 3, d_k: 2}

input:
<<yaml(X)>>
w_q:
<<yaml(WQ)>>
w_k:
<<yaml(WK)>>
w_v:
<<yaml(WV)>>
query:
<<yaml(Q)>>
key:
<<yaml(K)>>
value:
<<yaml(V)>>
scores:            # query @ key.T
<<yaml(scores)>>
scaled_scores:     # / sqrt(2)
<<yaml(scaled)>>
weights:           # softmax, dim -1
<<yaml(weights)>>
output:            # weights @ value
<<yaml(output)>>
""")

page("42-pairs-ja.md", "a row per query and key", "ja", "self-attention, Q K V given", n=2, m=2, dv=2, direct=True, pool=(0, 1, 2, 3), steps="scores0 scaled3 weights3 output3", tok="犬 猫", text=r"""
# 犬と猫の注意　― 表で追う ―

（読書会メモ 第 2 回，3 ページ目）

| 単語 | クエリ | キー | バリュー |
|---|---|---|---|
| 犬 | <<vec(Q[0])>> | <<vec(K[0])>> | <<vec(V[0])>> |
| 猫 | <<vec(Q[1])>> | <<vec(K[1])>> | <<vec(V[1])>> |

4 組の内積をとり，√2 ≈ 1.414 で割り，単語ごとにソフトマックスを計算した結果です。

| 見る側 | 見られる側 | 内積 | ÷√2 | 重み |
|---|---|---|---|---|
| 犬 | 犬 | <<scores[0][0]>> | <<scaled[0][0]>> | <<weights[0][0]>> |
| 犬 | 猫 | <<scores[0][1]>> | <<scaled[0][1]>> | <<weights[0][1]>> |
| 猫 | 犬 | <<scores[1][0]>> | <<scaled[1][0]>> | <<weights[1][0]>> |
| 猫 | 猫 | <<scores[1][1]>> | <<scaled[1][1]>> | <<weights[1][1]>> |

出力は次の 2 本のベクトルになります。

- 犬：<<vec(output[0])>>
- 猫：<<vec(output[1])>>

重みは 4 個，各単語の合計は 1 です。
""")

page("43-tex-ja.tex", "LaTeX tabular", "ja", "self-attention, Q K V given", direct=True, pool=(0, 1, 2), steps="scores0 scaled3 weights3 output3", tok="春 夏 秋", text=r"""
\section{季節の注意}
表~1 に 3 語のクエリ，キー，バリューを示す（$d_k=2$）．データは 2024 年 1 月に作成した．

\begin{table}[h]\centering
\caption{入力}
\begin{tabular}{lrr}
\hline
クエリ & 1 & 2 \\ \hline
<<tabular(tok, Q)>>
\hline
\end{tabular}
\quad
\begin{tabular}{lrr}
\hline
キー & 1 & 2 \\ \hline
<<tabular(tok, K)>>
\hline
\end{tabular}
\quad
\begin{tabular}{lrr}
\hline
バリュー & 1 & 2 \\ \hline
<<tabular(tok, V)>>
\hline
\end{tabular}
\end{table}

スコア $QK^\top$ は次のとおりである．

\begin{tabular}{l|rrr}
 & 春 & 夏 & 秋 \\ \hline
<<tabular(tok, scores)>>
\end{tabular}

$\sqrt{2}=1.414$ で割る．

\begin{tabular}{l|rrr}
 & 春 & 夏 & 秋 \\ \hline
<<tabular(tok, scaled)>>
\end{tabular}

ソフトマックス（各行の和は 1）を適用する．

\begin{tabular}{l|rrr}
 & 春 & 夏 & 秋 \\ \hline
<<tabular(tok, weights)>>
\end{tabular}

重みとバリューの積が出力である．

\begin{tabular}{l|rr}
 & 1 & 2 \\ \hline
<<tabular(tok, output)>>
\end{tabular}

春は秋より夏を約 2 倍重視する，とは限らない．詳しくは 4.2 節で述べる．
""")
