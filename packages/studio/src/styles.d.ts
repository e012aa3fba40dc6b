// Vite turns what these import into files of the site.
declare module '*.css';
