"""Evaluation of retrieval runs by the rules of FEVER, HoVer and FEVEROUS."""
