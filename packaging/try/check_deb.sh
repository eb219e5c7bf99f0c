# The gateway is there, and nobody started it.
man -w siglum siglum-why siglum-serve >/dev/null
getent passwd siglum
[ ! -e /etc/systemd/system/multi-user.target.wants/siglum-gateway.service ]
[ ! -e /etc/systemd/system/timers.target.wants/siglum-backup.timer ]
systemd-analyze verify siglum-gateway.service siglum-backup.service siglum-backup.timer
for unit in siglum-gateway siglum-backup; do
    systemd-analyze security --offline=true --no-pager --threshold=20 "/usr/lib/systemd/system/$unit.service" | tail -n 1
done
# The environment file of the documents is one that the shell reads as systemd does.
env -i sh -euc '. /usr/share/doc/siglum/gateway.env'
# It runs as its user, on a home of its own, as docs/guide/operate.md has it: token, backup, restore.
install -d -o siglum -g siglum /mnt/gateway /mnt/backups
as_gateway='setpriv --reuid siglum --regid siglum --clear-groups env -C / HOME=/mnt/gateway SIGLUM_HOME=/mnt/gateway'
answers() {
    curl -fsS --retry 20 --retry-delay 1 --retry-connrefused "$@"
    echo
}
create() {
    printf '{"agent":"my-runtime","conversation_id":"%s"}' "$1" |
        answers http://127.0.0.1:7477/v1/sessions -H "authorization: Bearer $token" -H 'content-type: application/json' -d @-
}
$as_gateway siglum serve &
gateway=$!
answers http://127.0.0.1:7477/readyz
token=$($as_gateway siglum token create --name ann)
create before
# The command of the unit for backups, at another place.
command=$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/siglum-backup.service | sed 's/\$\$/$/g; s/%%/%/g; s#/var/lib/siglum-backups#/mnt/backups#g')
$as_gateway sh -c "$command"
$as_gateway sh -c "$command"
create after
kill "$gateway"
wait "$gateway"
newest=$(ls /mnt/backups/*T*.db | tail -n 1)
[ "${newest%T*}.db" -ef "$newest" ]
$as_gateway siglum restore "$newest" --objects /mnt/backups/objects --yes
$as_gateway siglum verify
$as_gateway siglum serve &
gateway=$!
listed=$(answers http://127.0.0.1:7477/v1/sessions -H "authorization: Bearer $token")
echo "$listed" | grep -q before
if echo "$listed" | grep -q '"after"'; then
    echo 'error: the ledger is not that of the backup' >&2
    exit 1
fi
kill "$gateway"
wait "$gateway"
