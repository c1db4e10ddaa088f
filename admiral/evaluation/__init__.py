"""Evaluation: what a run of retrieval is worth by the rules of FEVER, HoVer and FEVEROUS."""
