// Style files of areas, which the build adds to the one style sheet of the console.
declare module '*.css';
