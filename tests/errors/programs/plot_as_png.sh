# Pictures are SVG.
graphrun plot model -o curves.png
