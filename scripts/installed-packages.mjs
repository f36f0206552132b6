// Which packages of the lock file are installed with the service: what its dependencies reach. The lock file also lists
// what development needs, and what the packages below `packages` need.
import { readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * @typedef {{ name?: string, version?: string, resolved?: string, integrity?: string, license?: string, link?: boolean, hasInstallScript?: boolean, dev?: boolean, dependencies?: Record<string, string>, optionalDependencies?: Record<string, string>, peerDependencies?: Record<string, string> }} Locked
 */

/** Reads the entries of the lock file by their place. @param {string} root @returns {Map<string, Locked>} */
export function readLockFile(root) {
  const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8'));
  return new Map(Object.entries(packages));
}

/** Returns the name of the package at a place. @param {string} place */
export function nameAt(place) {
  return place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

/** Returns the places of the packages that are installed with the service. @param {Map<string, Locked>} lock @returns {Set<string>} */
export function findInstalled(lock) {
  /** @type {Set<string>} */
  const found = new Set();
  const waiting = [''];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    const { dependencies, optionalDependencies, peerDependencies } = lock.get(place) ?? {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const target = resolve(lock, place, name);
      // An optional package may be missing.
      if (target === undefined || found.has(target)) continue;
      found.add(target);
      waiting.push(target);
    }
  }
  return found;
}

/** Returns the place of the package that an import from another place finds, as Node.js looks for it. @param {Map<string, Locked>} lock @param {string} from @param {string} name */
function resolve(lock, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const place = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (lock.has(place)) return place;
    if (folder === '') return undefined;
  }
}
