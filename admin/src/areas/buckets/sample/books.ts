// The facts of the sample data: authors, and their works with the year of the first publication or performance.

/** `id|name|born|died|language`, followed by a line for each work: `title|year|form`. */
export const library = `
austen|Jane Austen|1775|1817|English
  Sense and Sensibility|1811|novel
  Pride and Prejudice|1813|novel
  Mansfield Park|1814|novel
  Emma|1815|novel
  Northanger Abbey|1817|novel
  Persuasion|1817|novel
dickens|Charles Dickens|1812|1870|English
  Oliver Twist|1838|novel
  A Christmas Carol|1843|novella
  David Copperfield|1850|novel
  Bleak House|1853|novel
  Hard Times|1854|novel
  A Tale of Two Cities|1859|novel
  Great Expectations|1861|novel
george-eliot|George Eliot|1819|1880|English
  Adam Bede|1859|novel
  The Mill on the Floss|1860|novel
  Silas Marner|1861|novel
  Middlemarch|1871|novel
charlotte-bronte|Charlotte Brontë|1816|1855|English
  Jane Eyre|1847|novel
  Shirley|1849|novel
  Villette|1853|novel
emily-bronte|Emily Brontë|1818|1848|English
  Wuthering Heights|1847|novel
shelley|Mary Shelley|1797|1851|English
  Frankenstein|1818|novel
  The Last Man|1826|novel
stoker|Bram Stoker|1847|1912|English
  Dracula|1897|novel
stevenson|Robert Louis Stevenson|1850|1894|English
  Treasure Island|1883|novel
  Strange Case of Dr Jekyll and Mr Hyde|1886|novella
  Kidnapped|1886|novel
wells|H. G. Wells|1866|1946|English
  The Time Machine|1895|novella
  The Island of Doctor Moreau|1896|novel
  The Invisible Man|1897|novel
  The War of the Worlds|1898|novel
conrad|Joseph Conrad|1857|1924|English
  Heart of Darkness|1899|novella
  Lord Jim|1900|novel
  Nostromo|1904|novel
  The Secret Agent|1907|novel
wilde|Oscar Wilde|1854|1900|English
  The Picture of Dorian Gray|1890|novel
  The Importance of Being Earnest|1895|play
shakespeare|William Shakespeare|1564|1616|English
  Romeo and Juliet|1597|play
  A Midsummer Night's Dream|1600|play
  Hamlet|1603|play
  King Lear|1608|play
  Macbeth|1623|play
defoe|Daniel Defoe|1660|1731|English
  Robinson Crusoe|1719|novel
  Moll Flanders|1722|novel
swift|Jonathan Swift|1667|1745|English
  Gulliver's Travels|1726|novel
  A Modest Proposal|1729|essay
melville|Herman Melville|1819|1891|English
  Typee|1846|novel
  Moby-Dick|1851|novel
  Bartleby, the Scrivener|1853|story
hawthorne|Nathaniel Hawthorne|1804|1864|English
  The Scarlet Letter|1850|novel
  The House of the Seven Gables|1851|novel
twain|Mark Twain|1835|1910|English
  The Adventures of Tom Sawyer|1876|novel
  The Prince and the Pauper|1881|novel
  Adventures of Huckleberry Finn|1884|novel
poe|Edgar Allan Poe|1809|1849|English
  The Fall of the House of Usher|1839|story
  The Murders in the Rue Morgue|1841|story
  The Raven|1845|poetry
thoreau|Henry David Thoreau|1817|1862|English
  Civil Disobedience|1849|essay
  Walden|1854|essay
whitman|Walt Whitman|1819|1892|English
  Leaves of Grass|1855|poetry
henry-james|Henry James|1843|1916|English
  Daisy Miller|1878|novella
  The Portrait of a Lady|1881|novel
  The Turn of the Screw|1898|novella
  The Ambassadors|1903|novel
carroll|Lewis Carroll|1832|1898|English
  Alice's Adventures in Wonderland|1865|novel
  Through the Looking-Glass|1871|novel
doyle|Arthur Conan Doyle|1859|1930|English
  A Study in Scarlet|1887|novel
  The Sign of the Four|1890|novel
  The Adventures of Sherlock Holmes|1892|story
  The Hound of the Baskervilles|1902|novel
hugo|Victor Hugo|1802|1885|French
  The Hunchback of Notre-Dame|1831|novel
  Les Misérables|1862|novel
  Toilers of the Sea|1866|novel
dumas|Alexandre Dumas|1802|1870|French
  The Three Musketeers|1844|novel
  The Count of Monte Cristo|1844|novel
  Twenty Years After|1845|novel
verne|Jules Verne|1828|1905|French
  Journey to the Centre of the Earth|1864|novel
  From the Earth to the Moon|1865|novel
  Twenty Thousand Leagues Under the Seas|1870|novel
  Around the World in Eighty Days|1872|novel
  The Mysterious Island|1875|novel
flaubert|Gustave Flaubert|1821|1880|French
  Madame Bovary|1857|novel
  Sentimental Education|1869|novel
  Three Tales|1877|story
zola|Émile Zola|1840|1902|French
  Thérèse Raquin|1867|novel
  L'Assommoir|1877|novel
  Nana|1880|novel
  Germinal|1885|novel
stendhal|Stendhal|1783|1842|French
  The Red and the Black|1830|novel
  The Charterhouse of Parma|1839|novel
balzac|Honoré de Balzac|1799|1850|French
  Eugénie Grandet|1833|novel
  Father Goriot|1835|novel
  Lost Illusions|1837|novel
baudelaire|Charles Baudelaire|1821|1867|French
  The Flowers of Evil|1857|poetry
voltaire|Voltaire|1694|1778|French
  Zadig|1747|novella
  Candide|1759|novella
moliere|Molière|1622|1673|French
  Tartuffe|1664|play
  The Misanthrope|1666|play
  The Miser|1668|play
tolstoy|Leo Tolstoy|1828|1910|Russian
  War and Peace|1869|novel
  Anna Karenina|1878|novel
  The Death of Ivan Ilyich|1886|novella
  Resurrection|1899|novel
dostoevsky|Fyodor Dostoevsky|1821|1881|Russian
  Notes from Underground|1864|novella
  Crime and Punishment|1866|novel
  The Idiot|1869|novel
  Demons|1872|novel
  The Brothers Karamazov|1880|novel
chekhov|Anton Chekhov|1860|1904|Russian
  Ward No. 6|1892|story
  The Seagull|1896|play
  Three Sisters|1901|play
  The Cherry Orchard|1904|play
gogol|Nikolai Gogol|1809|1852|Russian
  The Government Inspector|1836|play
  Dead Souls|1842|novel
  The Overcoat|1842|story
turgenev|Ivan Turgenev|1818|1883|Russian
  A Sportsman's Sketches|1852|story
  Fathers and Sons|1862|novel
pushkin|Alexander Pushkin|1799|1837|Russian
  Eugene Onegin|1833|poetry
  The Queen of Spades|1834|story
  The Captain's Daughter|1836|novel
goethe|Johann Wolfgang von Goethe|1749|1832|German
  The Sorrows of Young Werther|1774|novel
  Faust|1808|play
  Elective Affinities|1809|novel
schiller|Friedrich Schiller|1759|1805|German
  The Robbers|1781|play
  Mary Stuart|1800|play
  William Tell|1804|play
heine|Heinrich Heine|1797|1856|German
  Book of Songs|1827|poetry
  Germany. A Winter's Tale|1844|poetry
kafka|Franz Kafka|1883|1924|German
  The Metamorphosis|1915|novella
  The Trial|1925|novel
  The Castle|1926|novel
mann|Thomas Mann|1875|1955|German
  Buddenbrooks|1901|novel
  Death in Venice|1912|novella
  The Magic Mountain|1924|novel
cervantes|Miguel de Cervantes|1547|1616|Spanish
  Don Quixote|1605|novel
  Exemplary Novels|1613|story
manzoni|Alessandro Manzoni|1785|1873|Italian
  The Betrothed|1827|novel
collodi|Carlo Collodi|1826|1890|Italian
  The Adventures of Pinocchio|1883|novel
ibsen|Henrik Ibsen|1828|1906|Norwegian
  Peer Gynt|1867|play
  A Doll's House|1879|play
  Ghosts|1881|play
  Hedda Gabler|1890|play
andersen|Hans Christian Andersen|1805|1875|Danish
  The Little Mermaid|1837|story
  The Emperor's New Clothes|1837|story
  The Ugly Duckling|1843|story
  The Snow Queen|1844|story
lagerlof|Selma Lagerlöf|1858|1940|Swedish
  Gösta Berling's Saga|1891|novel
  The Wonderful Adventures of Nils|1906|novel
eca|Eça de Queirós|1845|1900|Portuguese
  The Crime of Father Amaro|1875|novel
  The Maias|1888|novel
`;
