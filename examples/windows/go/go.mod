module memhawk/example

go 1.19
