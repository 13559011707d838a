# SPDX-License-Identifier: Apache-2.0
# A hash of 500,000 small arrays, filled, read and emptied.
use strict;
use warnings;

my %rows;
for my $i (1 .. 500_000) {
    $rows{"key$i"} = [$i, "value $i", $i * 3];
}
my $sum = 0;
for my $row (values %rows) {
    $sum += $row->[2];
}
delete $rows{"key$_"} for 1 .. 250_000;
print scalar(keys %rows), " $sum\n";
