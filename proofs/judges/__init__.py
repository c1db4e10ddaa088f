"""Sufficiency judges: do the claim's evidence sentences suffice to verify it?"""
