# Numbers with a fraction.
graphrun infer model --temperature hot
