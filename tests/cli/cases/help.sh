# SPDX-License-Identifier: Apache-2.0
# shellcheck source=common.sh
# The help texts; none is wider than 80 columns, and `help VERB` is `VERB --help`.
. "$CASES/common.sh"
t memhawk
t memhawk --help
t memhawk help
t memhawk run --help
t memhawk run -q -h
t memhawk report --help
t memhawk info --help
t memhawk help --help
t memhawk --version
for verb in run report info; do
    cmp <(memhawk help $verb) <(memhawk $verb --help) || echo "help $verb differs"
    ! memhawk $verb --help | grep -E '^.{81}'
done
! memhawk --help | grep -E '^.{81}'
