"""Strings.

    strings  the value in the meta, or in pieces
    pieces   long strings, rows of their own
    bitmaps  SETBIT and its kin
    bits     bytes as rows of bits
    lcs      the longest common subsequence
"""
