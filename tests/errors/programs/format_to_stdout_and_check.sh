# --check writes names, --stdout texts.
graphrun format --check --stdout words.pbtxt
