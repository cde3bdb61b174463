module decant.local/image-server

go 1.19
