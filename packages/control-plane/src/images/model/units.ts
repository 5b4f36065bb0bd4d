/** The meaning of MB in all settings here, and on the wire. In its own file: the importer's child loads no packages. */
export const MB = 1024 ** 2;
