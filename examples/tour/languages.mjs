// The data of the tour: the languages of the world, from the package `iso-639-3`, as records. Each has texts, a number,
// a list and a nested object, so that there is something for every filter to look at.
import { iso6393 } from 'iso-639-3';

/**
 * @typedef {object} Language
 * @property {string} id the code of ISO 639-3, three letters
 * @property {string} name
 * @property {string} type living, extinct, ancient, historical, constructed or special
 * @property {string} scope individual, macrolanguage or special
 * @property {number} letters how long the name is
 * @property {number[]} parts the parts of ISO 639 that know the language
 * @property {{ part1?: string, part2b?: string, part2t?: string }} codes its codes in the older parts
 */

/** All languages, in the order of their codes. @returns {Language[]} */
export function readLanguages() {
  return iso6393.map(({ name, type, scope, iso6393: id, iso6391, iso6392B, iso6392T }) => {
    const parts = [3];
    if (iso6392B !== undefined) parts.unshift(2);
    if (iso6391 !== undefined) parts.unshift(1);
    const codes = {
      ...(iso6391 === undefined ? {} : { part1: iso6391 }),
      ...(iso6392B === undefined ? {} : { part2b: iso6392B }),
      ...(iso6392T === undefined ? {} : { part2t: iso6392T }),
    };
    return { id, name, type, scope, letters: name.length, parts, codes };
  });
}
