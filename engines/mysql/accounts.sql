-- First of all: root answers only to the host's own root, through the socket. It is never open with a password.
INSTALL PLUGIN auth_socket SONAME 'auth_socket.so';
ALTER USER 'root'@'localhost' IDENTIFIED WITH auth_socket;
