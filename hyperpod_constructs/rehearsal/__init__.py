"""The rehearsal: the whole product on one machine, without an AWS account."""
