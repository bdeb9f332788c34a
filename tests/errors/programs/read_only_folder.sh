# A folder that must not be written to; root may write anywhere.
mkdir locked
chmod 555 locked
chmod 755 .
as_anyone=''
if [ "$(id -u)" = 0 ]; then as_anyone='setpriv --reuid=65534 --regid=65534 --clear-groups'; fi
$as_anyone "$(command -v graphrun)" train tags.pbtxt --out locked/model
