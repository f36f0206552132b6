// Case folding for searches in texts.

/**
 * Lowers a text so that a part of it is lowered in the same way alone. The small form of a capital sigma depends on what follows,
 * so both forms become one.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}

/**
 * Returns the characters that become one of the text when they are folded, and for each of them that one. Only letters beyond
 * ASCII with one capital; others are the same in all releases of Unicode.
 *
 * @param folded a folded text
 */
export function capitalsOf(folded: string): readonly [capitals: string, folded: string] {
  let [capitals, letters] = ['', ''];
  for (const letter of new Set(folded)) {
    if (letter <= '\u007f') continue;
    const capital = letter.toUpperCase();
    const isOneCharacter = String.fromCodePoint(capital.codePointAt(0)!) === capital;
    const isPair = capital !== letter && isOneCharacter && foldCase(capital) === letter;
    for (const other of [...(isPair ? [capital] : []), ...(letter === 'σ' ? ['ς'] : [])]) {
      capitals += other;
      letters += letter;
    }
  }
  return [capitals, letters];
}
