"""Read the files that people have: Markdown, HTML, PDF, manual pages and others.

Each family of formats has a module whose function takes the bytes of a file and fills a
`TextBuilder`. To add one, write such a function and list it in `file_types`.
"""
