"""What is measured for the claims of papers, a file for each paper or subject.

A measure takes the tables that a claim names, and what else the claim says as keywords. It gives
the values that a rule judges, and the numbers behind them.
"""
