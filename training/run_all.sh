#!/usr/bin/env bash
# From the data sets to the bundled models: `training/run_all.sh STAGES DATA`, where STAGES are some of
# mini, encoder, verifier and reader, separated by commas, and DATA is the folder of the data sets.
# Everything is kept in runs/. The same command resumes: files that exist are not built again, and
# training continues from its last saved state. On a processor, it takes days.
set -euo pipefail

stages=${1:?give the stages, such as mini,verifier}
data=${2:?give the folder of the data sets}
held_out=$data/hover/claims.dev.jsonl
if [ ! -f "$held_out" ]; then
    echo "error: there is no $held_out. Name the folder of the data sets: make mini DATA=FOLDER" >&2
    exit 1
fi
mkdir -p runs

# build FILE COMMAND...: run a command that ends with the option or argument that FILE replaces.
build() { [ -e "$1" ] || "${@:2}" "$1"; }
# train PROGRAM CONFIG: train what configs/CONFIG.yaml says, until it is finished.
train() {
    if [ ! -e "runs/$2.finished" ]; then
        accelerate launch -m training "$1" --config "configs/$2.yaml"
        touch "runs/$2.finished"
    fi
}
wants() { [[ ",$stages," == *",$1,"* ]]; }

# ---- Knowledge bases, and claims that are written over them -----------------------------------------
kb=runs/hover-367k
index() {
    [ -e "runs/hover-$1/kb.sqlite" ] ||
        admiral index "$data/hover/corpus-$1".jsonl.* --on-duplicate skip --kb "runs/hover-$1"
}
index 367k
index 43k
synthesize() { build "runs/$1.jsonl" python -m training synthesize --kb $kb --count "$2" --seed "$3" --output; }
synthesize synthetic-copy 12000 1
synthesize synthetic 3000 2
synthesize bridge-claims 16000 11
hover=hover:$data/hover/claims.train.jsonl
fever=$data/fever/claims.train-pages.jsonl # titles of pages only
fever_claims=gold/retrieve:$fever
ex_fever=ex-fever:$data/ex-fever/claims.csv
creak=creak:$data/creak/claims.train.jsonl
hotpotqa=hotpotqa:$data/hotpotqa/questions.jsonl
hold_out=0.15 # of the training claims: only the weights of the ranking are fitted on them

# ---- mini: copying titles, then all three tasks, then the hops that the model itself makes ----------
if wants mini; then
    samples() { build "runs/$1.jsonl" python -m training build_data --kb $kb --exclude "$held_out" --missing skip "${@:2}"; }
    samples copy --splits 2 --sentences 2 --source gold/retrieve:runs/synthetic-copy.jsonl \
        --source "hover/retrieve:${hover#hover:}" --source "$fever_claims" --source "$ex_fever" --source "$creak"
    samples joint --splits 3 --short 0.3 --rerankings 2 --source "$hover" \
        --source gold/retrieve+rerank:runs/synthetic.jsonl --source "$hotpotqa" --source "$ex_fever" \
        --source "$fever_claims" --source "fool-me-twice:$data/fool-me-twice/claims.dev.jsonl"
    samples claims --hold-out $hold_out --headings 0.12 --splits 3 --short 0.3 --source "$hover" \
        --source gold/retrieve:runs/synthetic.jsonl --source "hotpotqa/retrieve:${hotpotqa#hotpotqa:}" \
        --source "${ex_fever/ex-fever:/ex-fever/retrieve:}" --source "$creak" --source "pages:$fever"
    build runs/dev.jsonl python -m training build_data --kb runs/hover-43k --missing skip --source "hover:$held_out"
    build runs/links.jsonl python -m training link_prediction --kb $kb --count 44000 --headings 0.12 --exclude "$held_out"
    build runs/warm python -m training warm_start
    train retriever mini-copy
    train joint mini-joint
    # Few beams and no cross-encoder, for speed.
    build runs/on-policy.jsonl python -m training on_policy --kb $kb --model runs/mini-joint --hold-out $hold_out \
        --source "$hover" --source "$ex_fever" --limit 500 --set reranker=similarity --set beam_size=4 \
        --set title_beams=2 --set rerank_documents=15
    cat runs/links.jsonl runs/claims.jsonl runs/on-policy.jsonl > runs/samples.jsonl
    train joint mini
    [ -e runs/mini/sufficiency_head.safetensors ] || python -m training sufficiency --model runs/mini --kb runs/hover-43k \
        --claims "${hover#hover:}" --dev "$held_out"
    build runs/ranking.json python -m training ranking --model runs/mini --kb $kb --held-out $hold_out --limit 200 \
        --source "$hover" --source "$creak" --source "pages:$fever" --out
    echo "Use it: admiral retrieve --model runs/mini --set ranking_weights=runs/ranking.json ..."
fi

# ---- The sentence encoder, from the same samples ----------------------------------------------------
if wants encoder; then
    build runs/minilm python -m training base --from sentence-transformers/all-MiniLM-L6-v2
    build runs/sentence-pairs.jsonl python -m training sentence_pairs runs/joint.jsonl
    train dense_retriever mini-encoder
fi

# ---- Examples of the verifier and of the reader -----------------------------------------------------
if wants verifier || wants reader; then
    excluded=()
    for set in hover fever feverous; do excluded+=(--exclude "$data/$set/claims.dev.jsonl"); done
    examples() { build "runs/$1-examples.jsonl" python -m training build_examples "${@:2}"; }
    over_kb() { examples "$1" --kb $kb "${excluded[@]}" "${@:2}"; }
    # Pairs whose licences allow any use.
    pairs=()
    for name in nli/{snli,snli20k,fever,scifact,factcheckbench,begin,taxinli,conjnli,help} \
        nli2/{drop-nli,entailmentbank,fever-nli,fever-train,folio,hans,help-main,infotabs,logicbench} \
        nli2/{paws,scone,snli-cad,tabfact,vitaminc,wanli-part}; do
        pairs+=(--nli "$data/$name.train.jsonl.gz")
    done
    for limit in hans=4000 help-main=4000 logicbench=2500 scone=4000 begin=800 help=3000 drop-nli=8000 \
        entailmentbank=5000; do pairs+=(--limit $limit); done
    pairs+=(--title vitaminc)  # its pages are there in several versions, which contradict each other
    for source in fever-train fever fever-nli; do pairs+=(--title $source --join $source); done
    over_kb real "${pairs[@]}" --surround fever --surround fever-train --source "$hover" --source "gold:$fever"
    examples world --worlds 520000 --seed 1
    build runs/twin-examples.jsonl python -m training build_twins --kb $kb --documents 62000 "${excluded[@]}" --seed 3
    over_kb bridge --source gold:runs/bridge-claims.jsonl
    # The same claims and evidence, of which a sentence no longer names the next document.
    over_kb bridge-twin --bridge-twins gold:runs/bridge-claims.jsonl --bridge-twins "$hover"
    # What decides a claim among the sentences around it, as citations are read, and passages of news.
    over_kb passage --nli "$data/nli3/cg2c-doc.train.jsonl.gz" --nli "$data/nli3/cg2c-hops.train.jsonl.gz" \
        --passage "nli:$data/nli2/fever-train.train.jsonl.gz" --passage "nli:$data/nli2/vitaminc.train.jsonl.gz" \
        --passage "$hover" --passage "gold:$fever"
    # dev_pairs PAIRS: the options of some development pairs, each FOLDER/NAME:COUNT.
    dev_pairs() {
        for pair in "$@"; do
            name=${pair%:*}
            echo --nli "$data/$name.dev.jsonl.gz" --limit "${name#*/}=${pair#*:}"
        done
    }
    # shellcheck disable=SC2046 # the names have no spaces
    examples dev --split dev --worlds 300 --seed 777 $(dev_pairs nli/snli:100 nli2/vitaminc:300 \
        nli2/fever-train:150 nli2/snli-cad:100 nli2/paws:100 nli2/hans:60 nli2/wanli-part:100 nli2/infotabs:80 \
        nli2/tabfact:60)
fi

# ---- The verifier -----------------------------------------------------------------------------------
if wants verifier; then
    over_kb selection --hold-out $hold_out --select "$hover" --select "$hotpotqa" --select "$ex_fever" \
        --select gold:runs/bridge-claims.jsonl
    build runs/bge-small python -m training base --from BAAI/bge-small-en-v1.5
    train verifier verifier
    # shellcheck disable=SC2046
    examples calibration --split dev --seed 9 --kb $kb --documents "$data/feverous/pages.jsonl" \
        $(dev_pairs nli2/vitaminc:500 nli/fever:500 nli2/fever-train:300 nli2/snli-cad:150 nli2/wanli-part:200 \
            nli/snli:150) --title vitaminc --title fever-train --title fever --source "hover:$held_out" \
        --source "gold:$data/feverous/claims.dev.jsonl" --source "fool-me-twice:$data/fool-me-twice/claims.dev.jsonl"
    python -m training export_verifier runs/verifier runs/verifier-onnx
    python -m training calibration --verifier runs/verifier-onnx --examples runs/calibration-examples.jsonl \
        --open 0.1 --open bare=0.3 --limit 500
    echo "Use it: admiral retrieve --set verifier=runs/verifier-onnx ..."
fi

# ---- The reader: the whole head on short pairs, then the automaton too, then all examples -----------
if wants reader; then
    build runs/base python -m training base
    train reader reader-first
    train reader reader-pairs
    train reader reader
fi
