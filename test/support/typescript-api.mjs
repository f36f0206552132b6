// Loaded with `node --import` by generators that use the JavaScript API of TypeScript. Version 7, which compiles this
// project, has no such API. `@ts-morph/common` carries an older compiler with it, and installs no second `tsc`.
import { register } from 'node:module';

const substitute = JSON.stringify(new URL('typescript-api-module.mjs', import.meta.url).href);
const hooks = `
  export function resolve(specifier, context, next) {
    return next(specifier === 'typescript' ? ${substitute} : specifier, context);
  }
`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);
