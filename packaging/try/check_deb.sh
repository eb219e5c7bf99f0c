# The gateway is there, and nobody started it.
man -w siglum siglum-why siglum-serve >/dev/null
getent passwd siglum
[ ! -e /etc/systemd/system/multi-user.target.wants/siglum-gateway.service ]
systemd-analyze verify siglum-gateway.service
systemd-analyze security --offline=true --no-pager --threshold=20 /usr/lib/systemd/system/siglum-gateway.service | tail -n 1
# It runs as its user, on a home of its own.
install -d -o siglum -g siglum /mnt/gateway
setpriv --reuid siglum --regid siglum --clear-groups env -C / HOME=/mnt/gateway SIGLUM_HOME=/mnt/gateway siglum serve &
gateway=$!
curl -fsS --retry 20 --retry-delay 1 --retry-connrefused http://127.0.0.1:7477/healthz
echo
kill "$gateway"
wait "$gateway"
