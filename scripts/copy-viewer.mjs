// Copies the viewer of the API page into the files that the package ships. An installation then does not need the package
// that carries the viewer.
import { copyFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const target = fileURLToPath(new URL('../assets/swagger-ui/', import.meta.url));
const source = path.dirname(fileURLToPath(import.meta.resolve('@fastify/swagger-ui/static/swagger-ui.css')));

mkdirSync(target, { recursive: true });
for (const file of ['swagger-ui-bundle.js', 'swagger-ui.css']) {
  copyFileSync(path.join(source, file), path.join(target, file));
}
