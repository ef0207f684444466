"""What several types have in common.

    member_rows  one row per member: hashes and sets
    sampling     random members
"""
