"""Writes idf.tsv: documents, having and the inverse document frequency by its definition, the largest k with
2^k <= (1 + documents/having)^4096, in exact integers.  Usage: python3 idf.py > idf.tsv"""

CASES = [
    (1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (7, 1), (10, 3), (100, 99), (1000, 1), (5574, 12), (21578, 17),
    (100000, 3), (1000000, 999999), (10**9, 1), (2**40 - 1, 1), (2**40, 3), (2**62, 1), (2**62 + 12345, 2**61 + 7),
    (2**63 - 1, 2**63 - 1), (2**63 - 1, 1),
]

for documents, having in CASES:
    power, unit = (documents + having) ** 4096, having ** 4096
    k = power.bit_length() - unit.bit_length()
    while unit << k > power:
        k -= 1
    print(documents, having, k, sep="\t")
