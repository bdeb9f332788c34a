echo '{"f1": 0.5}' | graphrun plot --groups -
