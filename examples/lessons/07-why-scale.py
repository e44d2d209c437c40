# Why scores are divided by sqrt(d_k), in numbers that can be checked: attn check 07-why-scale.py
import torch
import torch.nn.functional as F

# Wider vectors make larger dot products: ones of width 4 and of width 512.
q = torch.ones(1, 4)
k = torch.ones(1, 4)
score = torch.matmul(q, k.T)  # → tensor([[4.]])

q_wide = torch.ones(1, 512)
k_wide = torch.ones(1, 512)
score_wide = torch.matmul(q_wide, k_wide.T)  # → tensor([[512.]])

# Softmax of such a score against 0 leaves nothing for the second key.
scores = torch.tensor([[512.0, 0.0]])
weights = F.softmax(scores, dim=-1)  # → tensor([[1., 0.]])

# Divided by sqrt(512), about 22.6, the second key still gets next to nothing: ones all alike are the extreme.
scaled_scores = scores / torch.sqrt(torch.tensor(512.0))  # → tensor([[22.6274, 0.0000]])
scaled_weights = F.softmax(scaled_scores, dim=-1)  # → tensor([[1.0000e+00, 1.4895e-10]])

# The division is made for what is usual: numbers drawn at random with variance 1 have dot products of about
# sqrt(512) in size. Such a score comes down to 1, and the second key counts.
usual = torch.tensor([[22.6274, 0.0]])
usual_weights = F.softmax(usual, dim=-1)  # → tensor([[1.0000e+00, 1.4895e-10]])
usual_scaled = usual / torch.sqrt(torch.tensor(512.0))  # → tensor([[1.0000, 0.0000]])
usual_scaled_weights = F.softmax(usual_scaled, dim=-1)  # → tensor([[0.7311, 0.2689]])
