// Takes the place of the package `typescript` for generators; see typescript-api.mjs.
import { createRequire } from 'node:module';

// oxlint-disable-next-line import/no-default-export -- the package has one
export default createRequire(import.meta.resolve('oazapfts'))('typescript');
