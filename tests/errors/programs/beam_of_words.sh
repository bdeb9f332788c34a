# Numbers of other options.
graphrun infer model --beam two
