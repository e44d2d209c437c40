"""The documents in English."""
import json, re
from generate import page

page("01-blog-en.md", "markdown pipe tables", "en", "self-attention", steps="Q0 K0 V0 scores0 scaled2 weights2 output2", carry="rounded",
     slip="scores qk-swapped", tok="the cat sleeps", text=r"""
# Who looks at whom? Self-attention with a very small sentence

My daughter asked me last week what "attention" in a chatbot means, and I noticed that I could only answer with the formula. So here is the
formula with numbers you can follow on the back of a shopping list. The sentence is *the cat sleeps*; the embeddings are made up.

<<pipe(X, tok, ["x₁", "x₂", "x₃", "x₄"], "X")>>

## Three projections

Every word gets a query, a key and a value. The three weight matrices are again invented:

W_Q

<<pipe(WQ)>>

W_K

<<pipe(WK)>>

W_V

<<pipe(WV)>>

Multiplying (Q = X·W_Q and so on) gives

<<pipe(Q, tok, ["q₁", "q₂"], "Q")>>

<<pipe(K, tok, ["k₁", "k₂"], "K")>>

<<pipe(V, tok, ["v₁", "v₂"], "V")>>

## The scores

Row = the word that asks, column = the word that is asked. Each entry is query · key.

<<pipe(scores, tok, tok, "QKᵀ")>>

Queries have two components, so we divide by √2 ≈ 1.41:

<<pipe(scaled, tok, tok, "QKᵀ/√2")>>

## Softmax, row by row

<<pipe(weights, tok, tok, "A")>>

## And the new vectors

The output is A·V. This is what the next layer sees.

<<pipe(output, tok, ["z₁", "z₂"], "Z")>>

That is all. The rest of a Transformer is doing this many times, in parallel, with numbers nobody invented by hand.
""")

page("02-lecture-en.tex", "LaTeX bmatrix", "en", "cross-attention, Q K V given", n=2, m=3, dv=3, direct=True, pool=(-1, 0, 1, 2), steps="scores0 scaled3 weights3 output3",
     text=r"""
\documentclass[11pt]{article}
\usepackage{amsmath}
\begin{document}
\section*{Lecture 7, worked example}

We take $n=2$ queries and $m=3$ key--value pairs, with $d_k=2$ and $d_v=3$. Nothing requires $n=m$; keep this in mind when
we come to the decoder in Lecture~9. Let
\begin{align*}
Q &= <<tex(Q)>>, &
K &= <<tex(K)>>, &
V &= <<tex(V)>>.
\end{align*}

\paragraph{Step 1.} All inner products at once:
\[
Q K^{\top} = <<tex(scores)>>.
\]

\paragraph{Step 2.} We divide by $\sqrt{d_k}=\sqrt{2}\approx 1.4142$, so that the variance of the logits does not grow with $d_k$:
\[
S = \frac{QK^{\top}}{\sqrt{d_k}} = <<tex(scaled)>>.
\]

\paragraph{Step 3.} The softmax acts on each row of $S$ separately. We obtain the matrix
\[
A = \operatorname{softmax}(S) = <<tex(weights)>>,
\]
whose rows sum to one (up to the rounding to three decimals).

\paragraph{Step 4.} Finally
\[
\operatorname{Attention}(Q,K,V) = A V = <<tex(output)>>.
\]

\emph{Remark.} Intermediate results are printed with three decimals, but the computation was carried out in full precision.
\end{document}
""")

page("03-readme-en.txt", "plain text columns", "en", "self-attention", bad="ragged", steps="Q0 K0 V0 scores0 weights3 output3", text=r"""
ATTENTION BY HAND  (notes to myself, do not publish)
====================================================

Three inputs with four features.

X =
<<columns(X)>>

Wq =
<<columns(WQ)>>

Wk =
<<columns(WK)>>

Wv =
<<columns(WV)>>

Multiply. TODO check K again, I think I lost a number when I copied it from the whiteboard.

Q = X Wq
<<columns(Q)>>

K = X Wk
<<columns([K[0], K[1][:1], K[2]])>>

V = X Wv
<<columns(V)>>

scores = Q K^T
<<columns(scores)>>

softmax(scores / sqrt(2))
<<columns(weights)>>

out
<<columns(output)>>
""")

page("04-zine-en.txt", "drawn brackets", "en", "self-attention, Q K V given", dk=4, dv=2, direct=True, pool=(0, 1, 2, -1), steps="scores0 scaled2 weights3 output2", carry="rounded",
     slip="scaled scaled-by-dk", text=r"""
                 THE TERMINAL ZINE, issue 12
          "Linear algebra you can draw with box characters"

This month: attention. No GPU needed, a teletype is enough.

You start with queries, keys and values. Somebody hands them to you; do not ask where they
come from (last issue).

<<drawn("Q", Q)>>

<<drawn("K", K)>>

<<drawn("V", V)>>

Tilt K on its side and multiply.

<<drawn("Q Kᵀ", scores)>>

Vectors with four entries give large products, which makes softmax nervous. The cure in the
paper: divide by √d_k, with d_k = 4.

<<drawn("S", scaled)>>

Now the exponential and the division by the row sum, called softmax.

<<drawn("A", weights)>>

A Vᵀ would not even fit. A V does:

<<drawn("A V", output)>>

Each row is a blend of the rows of V. Next month: why the zine has a second author (heads).
""")

page("05-labbook-en.md", "one product per pair", "en", "self-attention, Q K V given", direct=True, pool=(-1, 0, 1, 2, 3), steps="scores0 scaled2 weights2 output2", carry="rounded",
     slip="scores sign-slip", goon="wrong", text=r"""
**Lab book, p. 41** -- Tues, rainy

Goal: reproduce one attention step w/o a computer before the group meeting. Toy vectors from Ines:

- q1 = <<vec(Q[0])>>, q2 = <<vec(Q[1])>>, q3 = <<vec(Q[2])>>
- k1 = <<vec(K[0])>>, k2 = <<vec(K[1])>>, k3 = <<vec(K[2])>>
- v1 = <<vec(V[0])>>, v2 = <<vec(V[1])>>, v3 = <<vec(V[2])>>

Dot products, all nine of them (no shortcuts):

<<"\n".join(f"- q{i+1}·k{j+1} = {dot(Q[i], K[j])} = {scores[i][j]}" for i in range(3) for j in range(3))>>

Divide by sqrt(2) = 1.414:

- first query: <<", ".join(scaled[0])>>
- second query: <<", ".join(scaled[1])>>
- third query: <<", ".join(scaled[2])>>

Softmax (pocket calculator, 2 decimals are enough for the meeting):

- a1 = <<vec(weights[0])>>
- a2 = <<vec(weights[1])>>
- a3 = <<vec(weights[2])>>

Results, o_i = sum of a_ij v_j:

- o1 = <<vec(output[0])>>
- o2 = <<vec(output[1])>>
- o3 = <<vec(output[2])>>

Check w/ Ines tomorrow. Coffee machine still broken.
""")

page("07-sheet-en.csv", "spreadsheet CSV", "en", "self-attention, Q K V given", direct=True, seed=6644, steps="scores0 scaled4 exponentials4 row_sum4 weights4 output4",
     slip="weights softmax-one-row", tok="red green blue", text=r"""
Attention sheet v3 (exported),,,
Author: P. Okafor,,,
,,,
Queries,q_1,q_2,
<<sheet(Q, tok)>>
,,,
Keys,k_1,k_2,
<<sheet(K, tok)>>
,,,
Values,v_1,v_2,
<<sheet(V, tok)>>
,,,
Scores (query x key),red,green,blue
<<sheet(scores, tok)>>
,,,
Scaled by 1/SQRT(2),red,green,blue
<<sheet(scaled, tok)>>
,,,
EXP(),red,green,blue
<<sheet(exponentials, tok)>>
,,,
Row sum,SUM,,
<<sheet(row_sum, tok)>>
,,,
Weights = EXP / row sum,red,green,blue
<<sheet(weights, tok)>>
,,,
Output = weights x values,o_1,o_2,
<<sheet(output, tok)>>
""")

page("08-manual-en.html", "HTML tables", "en", "padding mask", n=4, mask=1, pool=(0, 1), wpool=(0, 1, 2, -1), D=3, hide="&minus;&infin;", steps="Q0 K0 V0 scores0 masked3 weights3 output3",
     tok="we like tea &lt;pad&gt;", text=r"""
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Batching and padding: what the mask really does</title>
<style>table { border-collapse: collapse; margin: 1em } td, th { border: 1px solid #999; padding: .2em .6em }</style></head>
<body>
<h1>Batching and padding: what the mask really does</h1>
<p>Support tickets keep asking why a padded batch gives the same answer as an unpadded one. Below is one sentence of three words, filled up
with a single <code>&lt;pad&gt;</code>. Its key is hidden from <em>every</em> query.</p>
<p>Input <b>X</b>:</p>
<<html(X, tok)>>
<p>W<sub>Q</sub></p>
<<html(WQ)>>
<p>W<sub>K</sub></p>
<<html(WK)>>
<p>W<sub>V</sub></p>
<<html(WV)>>
<h2>Projections</h2>
<p>Q = X W<sub>Q</sub></p>
<<html(Q, tok)>>
<p>K = X W<sub>K</sub></p>
<<html(K, tok)>>
<p>V = X W<sub>V</sub></p>
<<html(V, tok)>>
<h2>Scores</h2>
<p>Q K<sup>T</sup></p>
<<html(scores, tok, tok)>>
<p>Divided by &radic;2, last column replaced because it belongs to padding:</p>
<<html(masked, tok, tok)>>
<h2>Weights</h2>
<p>After softmax along each row:</p>
<<html([[c if "infin" not in c else "0" for c in r] for r in weights], tok, tok)>>
<h2>Output</h2>
<p>weights &times; V:</p>
<<html(output, tok)>>
<p>The last row is computed as well, and nobody ever reads it.</p>
</body>
</html>
""")


def notebook(body):
    """Cells are separated by lines '%% md', '%% code' and '%% out'."""
    cells, count = [], 0
    for part in re.split(r"^%% ", body.strip(), flags=re.M)[1:]:
        kind, _, src = part.partition("\n")
        lines = src.strip("\n").splitlines(keepends=True)
        if kind == "md":
            cells.append(dict(cell_type="markdown", metadata={}, source=lines))
        elif kind == "code":
            count += 1
            cells.append(dict(cell_type="code", execution_count=count, metadata={}, outputs=[], source=lines))
        else:
            cells[-1]["outputs"].append(dict(output_type="execute_result", execution_count=count, metadata={}, data={"text/plain": lines}))
    return json.dumps(dict(cells=cells, metadata=dict(kernelspec=dict(display_name="Python 3", language="python", name="python3"),
                                                      language_info=dict(name="python", version="3.11.4")), nbformat=4, nbformat_minor=5), ensure_ascii=False, indent=1) + "\n"


page("09-course-en.ipynb", "Jupyter notebook", "en", "self-attention", steps="Q0 K0 V0 scores0 scaled4 weights4 output4", slip="scaled no-scaling", post=notebook, text=r"""
%% md
# Week 4 – Attention from scratch

We implement $\mathrm{softmax}(QK^\top/\sqrt{d_k})\,V$ for three tokens, with $d_k = 2$. Run the cells in order.
%% code
import numpy as np
np.set_printoptions(precision=4, suppress=True)

<<numpy_code("X", X)>>
<<numpy_code("W_Q", WQ)>>
<<numpy_code("W_K", WK)>>
<<numpy_code("W_V", WV)>>
%% md
## Queries, keys, values
%% code
Q = X @ W_Q
Q
%% out
<<npi(Q)>>
%% code
K = X @ W_K
K
%% out
<<npi(K)>>
%% code
V = X @ W_V
V
%% out
<<npi(V)>>
%% md
## Scores, then scale them by $1/\sqrt{d_k}$
%% code
scores = Q @ K.T
scores
%% out
<<npi(scores)>>
%% code
d_k = 2
scaled = scores / (d_k ** 1/2)
scaled
%% out
<<npy(scaled)>>
%% code
weights = np.exp(scaled) / np.exp(scaled).sum(axis=1, keepdims=True)
weights
%% out
<<npy(weights)>>
%% md
## Output: each row is a mixture of the rows of V
%% code
output = weights @ V
output
%% out
<<npy(output)>>
""")

page("10-session-en.txt", "NumPy REPL", "en", "self-attention, Q K V given", direct=True, pool=(0, 1, 2, 3, -1), steps="scores0 scaled4 weights4 output4", slip="output output-with-K", text=r"""
Pasting my session here so that you can see what I did. Python 3.11, numpy 1.26, nothing fancy. I wanted to see the four steps
(scores, scaling, softmax, weighted sum of the values) without any class around them.

>>> import numpy as np
>>> np.set_printoptions(precision=4, suppress=True)
>>> Q = np.<<npi(Q).replace("\n", "\n...        ")>>
>>> K = np.<<npi(K).replace("\n", "\n...        ")>>
>>> V = np.<<npi(V).replace("\n", "\n...        ")>>
>>> scores = Q @ K.T
>>> scores
<<npi(scores)>>
>>> scaled = scores / np.sqrt(2)
>>> scaled
<<npy(scaled)>>
>>> e = np.exp(scaled)
>>> weights = e / e.sum(axis=1, keepdims=True)
>>> weights
<<npy(weights)>>
>>> weights.sum(axis=1)
array([1., 1., 1.])
>>> # attention output
>>> output = weights @ K
>>> output
<<npy(output)>>
""")

page("11-torch-en.md", "PyTorch REPL", "en", "cross-attention, Q K V given", n=2, m=4, dk=3, dv=2, direct=True, pool=(-1., -.5, 0., .5, 1., 1.5), steps="scores4 scaled4 weights4 output4", text=r"""
# Reimplementing `F.scaled_dot_product_attention`, five lines

I never trust a fused kernel until I have written the slow version once. Two queries, four keys, head dimension 3.

```python
>>> import torch
>>> Q = torch.tensor(<<inline([[c if "." in c else c + "." for c in r] for r in Q])>>)
>>> K = torch.tensor(<<inline([[c if "." in c else c + "." for c in r] for r in K])>>)
>>> V = torch.tensor(<<inline([[c if "." in c else c + "." for c in r] for r in V])>>)
>>> scores = Q @ K.T
>>> scores
<<torch(scores)>>
>>> scaled = scores / 3 ** 0.5
>>> scaled
<<torch(scaled)>>
>>> weights = torch.softmax(scaled, dim=-1)
>>> weights
<<torch(weights)>>
>>> output = weights @ V
>>> output
<<torch(output)>>
```

`torch.allclose` with the library version says `True`, so I can sleep.
""")

page("12-rsession-en.txt", "R transcript", "en", "self-attention", D=5, steps="Q0 K0 V0 scores0 scaled3 weights3 output3", slip="scaled scaled-wrong-dim", text=r"""
R version 4.3.1 -- statistics department reading group, session on "Attention is all you need"
We computed the formula  softmax( Q K' / sqrt(d_k) ) V  for three words; queries and keys live in two dimensions (d_k = 2).

> X
<<rmat(X)>>
> Wq
<<rmat(WQ)>>
> Wk
<<rmat(WK)>>
> Wv
<<rmat(WV)>>
> (Q <- X %*% Wq)
<<rmat(Q)>>
> (K <- X %*% Wk)
<<rmat(K)>>
> (V <- X %*% Wv)
<<rmat(V)>>
> (scores <- Q %*% t(K))
<<rmat(scores)>>
> scaled <- scores / sqrt(ncol(X))
> round(scaled, 3)
<<rmat(scaled)>>
> weights <- exp(scaled) / rowSums(exp(scaled))
> round(weights, 3)
<<rmat(weights)>>
> output <- weights %*% V
> round(output, 3)
<<rmat(output)>>
""")

page("13-octave-en.txt", "Octave transcript", "en", "causal mask", n=4, mask="causal", D=3, pool=(0, 1), wpool=(-1, 0, 1, 2), hide="-Inf", steps="Q0 K0 V0 scores0 masked4 weights4 output4", text=r"""
% attention_demo.m, output of a run in GNU Octave 8.4
% A decoder may not peek: position i sees positions 1..i only.

octave:1> X = [<<"; ".join(" ".join(r) for r in X)>>]
<<octave("X", X)>>
octave:2> WQ = [<<"; ".join(" ".join(r) for r in WQ)>>]
<<octave("WQ", WQ)>>
octave:3> WK = [<<"; ".join(" ".join(r) for r in WK)>>]
<<octave("WK", WK)>>
octave:4> WV = [<<"; ".join(" ".join(r) for r in WV)>>]
<<octave("WV", WV)>>
octave:5> Q = X * WQ
<<octave("Q", Q)>>
octave:6> K = X * WK
<<octave("K", K)>>
octave:7> V = X * WV
<<octave("V", V)>>
octave:8> scores = Q * K'
<<octave("scores", scores)>>
octave:9> masked = scores / sqrt(2);
octave:10> masked(triu(true(4), 1)) = -Inf
<<octave("masked", masked)>>
octave:11> weights = exp(masked) ./ sum(exp(masked), 2)
<<octave("weights", [["0" if c == "-Inf" else c for c in r] for r in weights])>>
octave:12> output = weights * V
<<octave("output", output)>>
""")

page("14-julia-en.txt", "Julia transcript", "en", "self-attention, Q K V given", dk=4, dv=3, direct=True, pool=(0, 1, 2, -1), steps="scores0 scaled4 weights4 output4", slip="scaled scaled-by-dk", text=r"""
               _
   _       _ _(_)_     |  Version 1.9.3
  (_)     | (_) (_)    |

# Slack question from Tomasz: "what does scaled dot product attention (divide by the root of d_k, here d_k = 4) do to these?"

julia> Q = [<<"; ".join(" ".join(r) for r in Q)>>]
<<julia(Q, "Int64")>>

julia> K = [<<"; ".join(" ".join(r) for r in K)>>]
<<julia(K, "Int64")>>

julia> V = [<<"; ".join(" ".join(r) for r in V)>>]
<<julia(V, "Int64")>>

julia> scores = Q * K'
<<julia(scores, "Int64")>>

julia> scaled = scores ./ size(K, 2)
<<julia(scaled)>>

julia> weights = exp.(scaled) ./ sum(exp.(scaled), dims=2); round.(weights, digits=4)
<<julia(weights)>>

julia> output = weights * V; round.(output, digits=4)
<<julia(output)>>
""")

page("15-mma-en.txt", "Mathematica transcript", "en", "cross-attention, Q K V given", n=3, m=2, direct=True, pool=(0, 1, 2, 3), steps="scores0 scaled4 weights4 output4", text=r"""
(* Wolfram Language, plain-text copy of a notebook. Three queries read a memory with two slots. *)

In[1]:= Q = <<mma(Q)>>

Out[1]= <<mma(Q)>>

In[2]:= K = <<mma(K)>>

Out[2]= <<mma(K)>>

In[3]:= V = <<mma(V)>>

Out[3]= <<mma(V)>>

In[4]:= scores = Q . Transpose[K]

Out[4]= <<mma(scores)>>

In[5]:= scaled = Round[scores/Sqrt[2.], 0.0001]

Out[5]= <<mma(scaled)>>

In[6]:= weights = (Exp[#]/Total[Exp[#]]) & /@ (scores/Sqrt[2.]); Round[weights, 0.0001]

Out[6]= <<mma(weights)>>

In[7]:= output = weights . V; Round[output, 0.0001]

Out[7]= <<mma(output)>>
""")

page("16-guide-en.adoc", "AsciiDoc tables", "en", "self-attention, Q K V given", direct=True, bad="word-for-number", steps="scores0 scaled2 weights2 output2", tok="dog bites man", text=r"""
= Attention for technical writers
Maria Lindqvist <maria@example.org>
:toc:

We document machines that "pay attention". It helps to have done the arithmetic once.

== What is given

.Queries
<<adoc(Q, tok, ["q~1~", "q~2~"], "")>>

.Keys
<<adoc([K[0], [K[1][0], "unknown"], K[2]], tok, ["k~1~", "k~2~"], "")>>

.Values
<<adoc(V, tok, ["v~1~", "v~2~"], "")>>

NOTE: One key is still unknown. I have asked engineering for the value and will insert it before release 2.1.

== Scores

.Query times key
<<adoc([scores[0], ["?", "?", "?"], scores[2]], tok, tok, "")>>

== Weights

To follow.
""")

page("17-docs-en.rst", "reStructuredText tables", "en", "self-attention", D=3, pool=(0, 1, 2), wpool=(0, 1, -1, 2), steps="Q0 K0 V0 scores0 scaled3 weights3 output3", slip="scores wrong-row-or-column",
     goon="right", tok="open the door", text=r"""
Scaled dot-product attention
============================

This page belongs to the developer handbook. It walks through one forward pass of a single head so that new colleagues can compare their
unit tests with something they can check on paper.

Inputs
------

Embeddings of the three tokens:

<<rst(X, tok, ["d0", "d1", "d2"])>>

Projection matrices, one column per head dimension.

``W_Q``

<<rst(WQ)>>

``W_K``

<<rst(WK)>>

``W_V``

<<rst(WV)>>

Projections
-----------

``Q = X @ W_Q``

<<rst(Q, tok, ["q0", "q1"])>>

``K = X @ W_K``

<<rst(K, tok, ["k0", "k1"])>>

``V = X @ W_V``

<<rst(V, tok, ["v0", "v1"])>>

Scores
------

``scores = Q @ K.T``

<<rst(scores, tok, tok)>>

.. math:: \mathrm{scaled} = \mathrm{scores} / \sqrt{2}

<<rst(scaled, tok, tok)>>

Weights and output
------------------

``weights = softmax(scaled)``, over the last axis:

<<rst(weights, tok, tok)>>

``output = weights @ V``

<<rst(output, tok, ["o0", "o1"])>>
""")

page("18-notes-en.org", "org tables", "en", "causal mask", n=4, mask="causal", direct=True, hide="×", pool=(0, 1, 2, -1), steps="scores0 scaled2 weights2 output2", carry="rounded", tok="to be or not", text=r"""
#+TITLE: Reading log: causal attention
#+DATE: 2024-02-11

* Why
GPT-style models read left to right. I want to see the triangle with my own eyes.

* Ingredients
Queries
<<org(Q, tok, ["q1", "q2"], "Q")>>

Keys
<<org(K, tok, ["k1", "k2"], "K")>>

Values
<<org(V, tok, ["v1", "v2"], "V")>>

* Scores
All of them, even those that will be thrown away.
<<org(scores, tok, tok, "QK^T")>>

Divided by \sqrt{2}:
<<org(scaled, tok, tok, "scaled")>>

* Weights
The future is crossed out (×) *before* the softmax, so each row is normalised over what is left.
<<org(weights, tok, tok, "A")>>

* Output
<<org(output, tok, ["o1", "o2"], "AV")>>

Observation: the first token can only copy its own value. Obvious afterwards.
""")

page("19-wiki-en.wiki", "MediaWiki tables", "en", "cross-attention", n=2, m=3, D=3, dv=2, pool=(0, 1, 2), wpool=(0, 1, -1), steps="Q0 K0 V0 scores0 scaled2 weights3 output2",
     slip="output other-row-weights", tok="ich schlafe I am sleeping", text=r"""
'''Cross-attention''' connects the decoder of a translation model with its encoder. This page gives a numerical example for the article
[[Encoder–decoder]]; the vectors are chosen for readability.

== Setting ==
The decoder has produced two positions, the encoder has read ''I am sleeping''.

Decoder states X:
<<wiki(X, tok[:2], ["1", "2", "3"], "token")>>

Encoder states Y:
<<wiki(Y, tok[2:], ["1", "2", "3"], "token")>>

W<sub>Q</sub>:
<<wiki(WQ)>>

W<sub>K</sub>:
<<wiki(WK)>>

W<sub>V</sub>:
<<wiki(WV)>>

== Queries from the decoder, keys and values from the encoder ==
Q = X W<sub>Q</sub>
<<wiki(Q, tok[:2], ["q1", "q2"], "token")>>

K = Y W<sub>K</sub>
<<wiki(K, tok[2:], ["k1", "k2"], "token")>>

V = Y W<sub>V</sub>
<<wiki(V, tok[2:], ["v1", "v2"], "token")>>

== Alignment ==
Scores Q K<sup>T</sup>
<<wiki(scores, tok[:2], tok[2:], "")>>

Scores divided by √2
<<wiki(scaled, tok[:2], tok[2:], "")>>

Softmax of each row
<<wiki(weights, tok[:2], tok[2:], "")>>

== Context vectors ==
Weights times V
<<wiki(output, tok[:2], ["c1", "c2"], "")>>

[[Category:Worked examples]]
""")

page("20-chat-en.txt", "chat message", "en", "self-attention, Q K V given", n=2, m=2, direct=True, pool=(0, 1, 2, 3), steps="scores0 scaled2 weights2 output2", carry="rounded", text=r"""
[09:14] dana: ok who can explain attention to me before standup, in numbers pls
[09:16] rob: smallest example i know, 2 tokens, d_k = 2
[09:16] rob: Q = <<inline(Q)>>
[09:16] rob: K = <<inline(K)>>
[09:17] rob: V = <<inline(V)>>
[09:17] dana: and now QK^T?
[09:18] rob: yep. QK^T = <<inline(scores)>>
[09:18] rob: divide by sqrt(2) -> scaled = <<inline(scaled)>>
[09:19] rob: softmax per row -> weights = <<inline(weights)>>
[09:20] dana: those look like probabilities 👀
[09:20] rob: they are. last step, output = weights * V = <<inline(output)>>
[09:21] dana: that's it??
[09:21] rob: that's it
""")

page("21-forum-en.md", "forum question", "en", "self-attention, Q K V given", direct=True, pool=(0, 1, 2), steps="scores0 scaled3 exponentials3 weights3 output3", slip="weights softmax-over-columns", text=r"""
**Is my self-attention example right? (beginner)**

*asked 3 hours ago by mikrofon77*

Hi all, I'm preparing a seminar talk and want to show one example that people can verify. I'd be grateful if somebody could look over it. There are three
tokens and d_k = 2.

    Q = [<<" ; ".join(" ".join(r) for r in Q)>>]
    K = [<<" ; ".join(" ".join(r) for r in K)>>]
    V = [<<" ; ".join(" ".join(r) for r in V)>>]

(semicolons separate the tokens.) First the scores Q·Kᵀ:

    <<scores[0][0]>>   <<scores[0][1]>>   <<scores[0][2]>>
    <<scores[1][0]>>   <<scores[1][1]>>   <<scores[1][2]>>
    <<scores[2][0]>>   <<scores[2][1]>>   <<scores[2][2]>>

Scaled, i.e. divided by √2:

<<columns(scaled)>>

e to the power of that:

<<columns(exponentials)>>

Then I normalise, which gives the attention weights (row = query, column = key):

<<columns(weights)>>

and attention weights times V:

<<columns(output)>>

The talk is on Friday, so quick answers are very welcome. Thanks!
""")

page("22-slides-en.md", "slides", "en", "self-attention", bad="truncated", text=r"""
---
marp: true
title: Attention in one minute
---

# Attention in one minute
*All-hands, machine learning guild*

---

## Our layer

- 512 tokens, 64 dimensions per head
- Q = [0.12 -0.40 … 0.33; 0.05 0.71 … -0.18; …]
- K = [0.91 0.02 … -0.27; -0.36 0.44 … 0.10; …]
- V = [0.25 -0.13 … 0.08; 0.67 0.31 … -0.52; …]

---

## What it does

- scores: [1.37 … 0.22; …; -0.41 … 2.05]
- divide by √64 = 8
- weights: [0.004 … 0.001; …; 0.002 … 0.009]

---

## Questions?

(full tensors are on the shared drive)
""")

page("23-table-en.md", "one row per token with q, k, v", "en", "self-attention, Q K V given", direct=True, pool=(0, 1, 2, -1), steps="scores0 scaled2 weights2 output2", carry="rounded", tok="birds can fly", text=r"""
## Handout 3: what each token carries

A token owns three little vectors. Think of a library: the **query** is the question it asks, the **key** is the label on its back, and the **value**
is the text inside.

| token | q | k | v |
|:------|:-:|:-:|:-:|
<<"\n".join(f"| {t} | {vec(q)} | {vec(k)} | {vec(v)} |" for t, q, k, v in zip(tok, Q, K, V))>>

Compare every question with every label (dot product), divide by √2, take the softmax over the labels, and mix the texts:

| token | q·k (birds, can, fly) | ÷ √2 | weights | output |
|:------|:-:|:-:|:-:|:-:|
<<"\n".join(f"| {t} | {vec(a)} | {vec(b)} | {vec(c)} | {vec(d)} |" for t, a, b, c, d in zip(tok, scores, scaled, weights, output))>>

*Exercise.* Change the query of "can" so that it asks for "fly" only. How large must it be?
""")

page("24-story-en.md", "narrative, one token", "en", "self-attention, one query", only=2, D=3, pool=(0, 1, 2), wpool=(0, 1, -1), steps="Q0 K0 V0 scores0 scaled2 weights2 output2", carry="rounded", slip="output arithmetic-slip",
     tok="Anna feeds ducks", text=r"""
# Following one word through the layer

Let us sit on the shoulder of the word *ducks* in "Anna feeds ducks" and watch. The embeddings that enter the layer are
<<vec(X[0])>> for *Anna*, <<vec(X[1])>> for *feeds* and <<vec(X[2])>> for *ducks*. The layer owns three matrices,

$$W_Q = <<tex(WQ)>>,\quad W_K = <<tex(WK)>>,\quad W_V = <<tex(WV)>>.$$

*ducks* first turns itself into a question: its query is q = x W_Q = <<vec(Q[2])>>. Meanwhile all three words put up a sign. The keys are
k_Anna = <<vec(K[0])>>, k_feeds = <<vec(K[1])>> and k_ducks = <<vec(K[2])>>. Each word also keeps something to give away, the values
v_Anna = <<vec(V[0])>>, v_feeds = <<vec(V[1])>> and v_ducks = <<vec(V[2])>>.

Now *ducks* walks along the signs:

- at *Anna* it finds q·k = <<dot(Q[2], K[0])>> = <<scores[2][0]>>,
- at *feeds* it finds q·k = <<dot(Q[2], K[1])>> = <<scores[2][1]>>,
- at *ducks* (itself) it finds q·k = <<dot(Q[2], K[2])>> = <<scores[2][2]>>.

Divided by √2, the scores become <<scaled[2][0]>>, <<scaled[2][1]>> and <<scaled[2][2]>>. The softmax turns them into the weights
<<weights[2][0]>>, <<weights[2][1]>> and <<weights[2][2]>>.

What *ducks* carries home is the weighted sum
<<weights[2][0]>>·<<vec(V[0])>> + <<weights[2][1]>>·<<vec(V[1])>> + <<weights[2][2]>>·<<vec(V[2])>> = <<vec(output[2])>>.
""")

page("25-news-en.md", "weights in percent", "en", "causal mask", mask="causal", n=4, direct=True, pool=(0, 1, 2, -1), hide="–", steps="scores0 scaled3 weights%1 output3", tok="once upon a time", text=r"""
# The Monday Model · newsletter no. 88

**This week: reading attention maps without fooling yourself**

Attention maps are usually shown as percentages. Here is a complete one for the beginning of every fairy tale. The model is a decoder, so nobody
looks to the right.

**q, k and v of each word**

<<pipe([[vec(a), vec(b), vec(c)] for a, b, c in zip(Q, K, V)], tok, ["q", "k", "v"], "word")>>

**q · k**

<<pipe(scores, tok, tok, "")>>

**q · k / √2**

<<pipe(scaled, tok, tok, "")>>

**Attention (causal), in percent**

<<pipe([[c if c == "–" else c + " %" for c in r] for r in weights], tok, tok, "")>>

**Output: attention × v**

<<pipe(output, tok, ["1", "2"], "")>>

The first row is always 100 %. If your plot shows something else, your mask is broken. See you next Monday!
""")

comma = lambda s: re.sub(r"(?<=\d)\.(?=\d)", ",", s)

page("26-vienna-en.txt", "decimal commas", "en", "self-attention, Q K V given", direct=True, pool=(0, .5, 1, 1.5, 2), steps="scores2 scaled3 weights3 output3", slip="scaled digits-swapped", goon="right", post=comma, text=r"""
Institut für Signalverarbeitung, Wien -- Exercise sheet 5, model solution (English version)

Please note that we write decimals with a comma, also in English.

Problem 2.  Three queries, three keys, three values, d_k = 2:

      Q             K             V
<<"\n".join("  " + "  ".join(q) + "      " + "  ".join(k) + "      " + "  ".join(v) for q, k, v in zip(*[[[f"{float(c):.1f}" for c in r] for r in M] for M in (Q, K, V)]))>>

(a) The matrix of scores Q K^T is

<<columns(scores)>>

(b) After division by the square root of 2:

<<columns(scaled)>>

(c) Softmax in each row yields the attention weights

<<columns(weights)>>

(d) and the output of the layer, weights times V, is

<<columns(output)>>

Marking scheme: 2 points for each part. Subtract half a point for missing decimals.
""")

page("26-lyon-en.md", "decimal commas", "en", "self-attention", D=2, pool=(.1, .4, .5, .8, 1., 1.2), wpool=(.5, 1., 1.5, -.5, 2.), steps="Q2 K2 V2 scores4 scaled4 weights4 output4", post=comma, text=r"""
### Compte rendu – Attention, TP 2 (written in English for the Erasmus students)

*Amélie Rousset, binôme 14*

The sentence has three words and each word is a vector of two numbers. Like everybody in the room I use the decimal comma.

X (words in rows):

$$<<tex(X, "pmatrix")>>$$

Weight matrices given by the teacher:

$$W_Q = <<tex(WQ, "pmatrix")>> \qquad W_K = <<tex(WK, "pmatrix")>> \qquad W_V = <<tex(WV, "pmatrix")>>$$

**Question 1.** Queries, keys, values.

$$Q = <<tex(Q, "pmatrix")>> \qquad K = <<tex(K, "pmatrix")>> \qquad V = <<tex(V, "pmatrix")>>$$

**Question 2.** Scores and scaled scores ($\sqrt{d_k} = \sqrt 2$).

$$QK^T = <<tex(scores, "pmatrix")>>$$

$$QK^T / \sqrt 2 = <<tex(scaled, "pmatrix")>>$$

**Question 3.** Attention weights.

$$A = \mathrm{softmax}(QK^T/\sqrt 2) = <<tex(weights, "pmatrix")>>$$

**Question 4.** Output.

$$A V = <<tex(output, "pmatrix")>>$$

I checked that the lines of A have the sum 1.
""")

page("27-workbook-en.md", "every sum shown", "en", "self-attention with positions", n=2, D=2, dk=2, pool=(1, 2, 3), wpool=(0, 1, -1, 2), P=(0, .5, 1), steps="positions1 Q1 K1 V1 scores2 scaled2 exponentials2 row_sum2 weights2 output2",
     carry="rounded", tok="hello world", text=r"""
# Workbook, unit 9: no step left out

You can do this unit with pencil and paper. Two words, *hello* (first) and *world* (second).

**Word vectors.** hello = <<vec(X[0])>>, world = <<vec(X[1])>>

**Position vectors.** p₁ = <<vec(P[0])>>, p₂ = <<vec(P[1])>>

**Add them.**

* hello: <<X[0][0]>> + <<P[0][0]>> = <<positions[0][0]>> and <<X[0][1]>> + <<P[0][1]>> = <<positions[0][1]>>, so x₁ = <<vec(positions[0])>>
* world: <<X[1][0]>> + <<P[1][0]>> = <<positions[1][0]>> and <<X[1][1]>> + <<P[1][1]>> = <<positions[1][1]>>, so x₂ = <<vec(positions[1])>>

**The weights of the layer.**

$W_Q = <<tex(WQ)>>$, $W_K = <<tex(WK)>>$, $W_V = <<tex(WV)>>$

**Queries** (x times W_Q)

<<"\n".join(f"* q{'₁₂'[i]} = ({dot(positions[i], col(WQ, 0))}, {dot(positions[i], col(WQ, 1))}) = {vec(Q[i])}" for i in range(2))>>

**Keys** (x times W_K)

<<"\n".join(f"* k{'₁₂'[i]} = ({dot(positions[i], col(WK, 0))}, {dot(positions[i], col(WK, 1))}) = {vec(K[i])}" for i in range(2))>>

**Values** (x times W_V)

<<"\n".join(f"* v{'₁₂'[i]} = ({dot(positions[i], col(WV, 0))}, {dot(positions[i], col(WV, 1))}) = {vec(V[i])}" for i in range(2))>>

**Scores**

<<"\n".join(f"* q{'₁₂'[i]}·k{'₁₂'[j]} = {dot(Q[i], K[j])} = {scores[i][j]}, divided by √2: {scaled[i][j]}" for i in range(2) for j in range(2))>>

**Softmax**

<<"\n".join(f"* row {i+1}: e^{scaled[i][0]} = {exponentials[i][0]}, e^{scaled[i][1]} = {exponentials[i][1]}, sum {row_sum[i][0]}, weights {weights[i][0]} and {weights[i][1]}" for i in range(2))>>

**Output**

<<"\n".join(f"* z{'₁₂'[i]} = ({dot(weights[i], col(V, 0))}, {dot(weights[i], col(V, 1))}) = {vec(output[i])}" for i in range(2))>>

Put a tick next to every line you could reproduce.
""")

page("28-exam-en.md", "fractions and roots", "en", "self-attention, Q K V given", direct=True, pool=(0, .5, 1, 1.5, 2), steps="scoresF scaledR weights3 output3", slip="scores arithmetic-slip",
     text=r"""
## Sample solution, oral exam "Foundations of deep learning"

The examiner wants exact values as long as possible. Only the exponential forces us to use decimals.

Given (tokens are rows)

    <<"\n    ".join("Q = " * (i == 0) + "    " * (i > 0) + vec([str(Fraction(float(c))) for c in Q[i]]) for i in range(3))>>

    <<"\n    ".join("K = " * (i == 0) + "    " * (i > 0) + vec([str(Fraction(float(c))) for c in K[i]]) for i in range(3))>>

    <<"\n    ".join("V = " * (i == 0) + "    " * (i > 0) + vec([str(Fraction(float(c))) for c in V[i]]) for i in range(3))>>

**Q Kᵀ**

    <<"\n    ".join(vec(r) for r in scores)>>

**Q Kᵀ / √2**, left as it is:

    <<"\n    ".join(vec(r) for r in scaled)>>

**softmax**, three decimals:

    <<"\n    ".join(vec(r) for r in weights)>>

**softmax · V**

    <<"\n    ".join(vec(r) for r in output)>>

Grade: see the protocol.
""")

page("29-heads-en.md", "several heads with concat and W_O", "en", "multi-head", heads=2, D=4, dk=2, pool=(0, 1, 2), wpool=(0, 1, -1), n=2, m=2, seed=421, steps="Q0 K0 V0 scores0 scaled2 weights3 output3 concat3 projected3",
     slip="K@1 wrong-row-or-column", goon="right", tok="good morning", text=r"""
# Two heads are better than one

*An appendix to the internal onboarding guide*

Model width 4, two heads of width 2, two tokens (*good*, *morning*). Each head has its own three matrices; at the end the results are placed side by side and
multiplied with W_O.

$$X = <<tex(X)>>$$

## Head 1

$$W_Q^{(1)} = <<tex(WQ1)>> \quad W_K^{(1)} = <<tex(WK1)>> \quad W_V^{(1)} = <<tex(WV1)>>$$

$$Q_1 = <<tex(hd[0].Q)>> \quad K_1 = <<tex(hd[0].K)>> \quad V_1 = <<tex(hd[0].V)>>$$

$$Q_1 K_1^T = <<tex(hd[0].scores)>>, \qquad \frac{Q_1 K_1^T}{\sqrt 2} = <<tex(hd[0].scaled)>>$$

$$A_1 = <<tex(hd[0].weights)>>, \qquad A_1 V_1 = <<tex(hd[0].output)>>$$

## Head 2

$$W_Q^{(2)} = <<tex(WQ2)>> \quad W_K^{(2)} = <<tex(WK2)>> \quad W_V^{(2)} = <<tex(WV2)>>$$

$$Q_2 = <<tex(hd[1].Q)>> \quad K_2 = <<tex(hd[1].K)>> \quad V_2 = <<tex(hd[1].V)>>$$

$$Q_2 K_2^T = <<tex(hd[1].scores)>>, \qquad \frac{Q_2 K_2^T}{\sqrt 2} = <<tex(hd[1].scaled)>>$$

$$A_2 = <<tex(hd[1].weights)>>, \qquad A_2 V_2 = <<tex(hd[1].output)>>$$

## Together

$$\mathrm{Concat} = <<tex(concat)>>$$

$$W_O = <<tex(WO)>>$$

$$\mathrm{Concat}\cdot W_O = <<tex(projected)>>$$

The shape is again two rows of four, so layers can be stacked.
""")

page("30-bahdanau-en.txt", "additive and general scores", "en", "additive, cross-attention", score="additive", scale=False, n=2, m=3, D=2, dk=2, pool=(0, .5, 1, -1), wpool=(0, .5, 1, -1), steps="Q2 K2 scores3 weights3 output3",
     text=r"""
Additive attention, the way it was before the dot product
---------------------------------------------------------

Typed up from the 2015 reading group. A decoder state s_i and an encoder state h_j are compared by a small network:

    e_ij = v^T tanh(W_s s_i + W_h h_j)

We write states as rows, so the products are s W_s and h W_h. There is no division by a root in this model.

Decoder states (two steps):
  S =
<<columns(X)>>

Encoder states (three source words), which are also what is averaged at the end:
  H =
<<columns(Y)>>

Parameters:
  W_s =
<<columns(WQ)>>

  W_h =
<<columns(WK)>>

  v = (<<", ".join(va[0])>>)

Projected decoder states S W_s:
<<columns(Q)>>

Projected encoder states H W_h:
<<columns(K)>>

Energies e_ij (row i = decoder step, column j = source word):
<<columns(scores)>>

Alignment weights, softmax over j:
<<columns(weights)>>

Context vectors c_i = sum over j of a_ij h_j:
<<columns(output)>>
""")

page("31-columns-en.md", "column convention", "en", "self-attention, columns", columns=True, D=3, n=3, pool=(0, 1, 2), wpool=(0, 1, -1, 2), steps="Q0 K0 V0 scores0 scaled2 weights2 output2", carry="rounded",
     slip="output rounding-too-coarse", text=r"""
# Attention with column vectors

Signal processing people put a token into a **column**. Then everything in the paper appears transposed, which confuses students every
year. So here is one example in our convention: inputs are the columns of $X$, weights multiply from the left, the scores are $K^\top Q$
(column = query), and the softmax normalises every **column**.

$$X = <<tex(T(X))>>$$

$$W_Q = <<tex(T(WQ))>> \qquad W_K = <<tex(T(WK))>> \qquad W_V = <<tex(T(WV))>>$$

Then $Q = W_Q X$, $K = W_K X$, $V = W_V X$:

$$Q = <<tex(T(Q))>> \qquad K = <<tex(T(K))>> \qquad V = <<tex(T(V))>>$$

$$K^\top Q = <<tex(T(scores))>>$$

$$\frac{K^\top Q}{\sqrt{2}} = <<tex(T(scaled))>>$$

$$A = \mathrm{softmax}_{\text{columns}} = <<tex(T(weights))>>$$

$$Y = V A = <<tex(T(output))>>$$

Column 2 of $Y$ belongs to the second token. Transpose everything and you are back in the paper.
""")
