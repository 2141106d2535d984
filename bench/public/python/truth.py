"""The second program of the exact join. It finds similar sets by a product of sparse matrices: truth.py FILE.

FILE has the size and the elements of each set, in 64 bits each. The output is a joined of public.go, as JSON.
"""

import json
import sys

import numpy as np
from scipy.sparse import csr_matrix

CHUNK = 500

data = np.fromfile(sys.argv[1], dtype="<u8")
sizes, parts, at = [], [], 0
while at < len(data):
    size = int(data[at])
    sizes.append(size)
    parts.append(data[at + 1 : at + 1 + size])
    at += 1 + size
sizes = np.array(sizes, dtype=np.int64)
_, columns, counts = np.unique(np.concatenate(parts), return_inverse=True, return_counts=True)
rows = np.repeat(np.arange(len(sizes)), sizes)
shared = counts[columns] > 1  # elements of one set join nothing
ones = np.ones(shared.sum(), dtype=np.int32)
matrix = csr_matrix((ones, (rows[shared], columns[shared])), shape=(len(sizes), len(counts)))
transposed = matrix.T.tocsr()

pairs = near = total = 0
for first in range(0, len(sizes), CHUNK):
    product = (matrix[first : first + CHUNK] @ transposed).tocoo()
    x, y, common = product.row.astype(np.int64) + first, product.col.astype(np.int64), product.data.astype(np.int64)
    union = sizes[x] + sizes[y] - common
    found = (x < y) & (5 * common >= 4 * union)
    pairs += int(found.sum())
    near += int((found & (10 * common < 9 * union)).sum())
    total += int((x[found].astype(np.uint64) * np.uint64(len(sizes)) + y[found].astype(np.uint64)).sum())
print(json.dumps({"Pairs": pairs, "Near": near, "Sum": total % 2**64}))
