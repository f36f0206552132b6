// Removes files of `dist` whose source no longer exists, so that a package holds only what its sources produce: the
// compiler leaves the output of renamed and deleted sources behind.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const dist = path.join(root, 'dist');

for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
  const source = /^(.+?)(?:\.d\.ts|\.js|\.js\.map)$/.exec(name)?.[1];
  if (source !== undefined && !existsSync(path.join(root, 'src', `${source}.ts`))) {
    rmSync(path.join(dist, name));
    console.log(`removed dist/${name}`);
  }
}
