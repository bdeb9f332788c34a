# --set of no name.
graphrun check tags.pbtxt --set =3
