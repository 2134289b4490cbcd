"""The named definitions inside chunks: of every language, with their kinds and lines."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from aurora.parsers.languages import GRAMMARS
from aurora.parsers.symbols import MAX_SYMBOLS
from tests.builders import parse


class Symbols(NamedTuple):
    """A file, and for each symbol its chunk, kind, name and lines: checked by eye."""

    text: str
    rows: str


SAMPLES = {
    "a.py": Symbols(
        """\
import os
X: int = 1
A, B = 1, 2
type Alias = int
limit = 3
limit = 4
class C:
    y = 2
    z: int
    def __init__(self):
        self.a = 1
        self.b: int = 2
        self.c, self.d = 1, 2
        loc = 1
        def show_help(): pass
        class K:
            q = 1
    @app.route("/x")
    def f(self): self.a = 3; self.late = 3
if __name__ == "__main__":
    main()
""",
        """\
C: field y 8
C: field z 9
C.__init__: field a 11
C.__init__: field b 12
C.__init__: field c 13
C.__init__: field d 13
C.__init__: function show_help 15
C.__init__: class K 16-17
C.__init__: field q 17
C.f: route /x 18
C.f: field late 19
module: constant X 2
module: constant A 3
module: constant B 3
module: type Alias 4
module: variable limit 5
""",
    ),
    "a.js": Symbols(
        """\
const A = 1, { b, c: d } = x;
export const O = { m() {}, k: 1, f: () => 1, "quoted": 2, g, ...h };
module.exports = {
  a,
  b() {},
  c: function () {},
};
app.get('/users', (req, res) => {});
request(app).get('/not-a-route');
describe('title', () => {
  it.skip('does', function () { const local = 1; });
});
export default defineComponent({ name: 'X', methods: { go() {} } });
exports.y = 3;
class K {
  #p = 1;
  static s = 2;
  constructor() {
    this.q = 1;
    const helper = () => 1;
  }
}
res.x = function () { function inner() {} };
""",
        """\
K: field p 16
K: field s 17
K.constructor: field q 19
K.constructor: function helper 20
res.x: function inner 23
module: constant A 1
module: variable b 1
module: variable d 1
module: constant O 2
module: method m 2
module: member k 2
module: method f 2
module: member quoted 2
module: method b 5
module: method c 6
module: route /users 8
module: test title 10-12
module: test does 11
module: member name 13
module: member methods 13
module: method go 13
module: variable y 14
""",
    ),
    "a.ts": Symbols(
        """\
interface I {
  a(): void;
  readonly c?: number;
}
enum E { A, B = 2 }
abstract class X {
  private x = 1;
  constructor(public y: string, z: number) {}
  abstract foo(): void;
  static readonly Z = 1;
}
declare const G: number;
declare function decl(x: number): void;
type T = { k: string; m(): void };
declare module "vue" {
  interface Z { q: string }
}
export const P = {
  K1: 1,
} as const;
function f(a: { local: string }) {
  interface Inner { deep: string }
}
""",
        """\
I: method a 2
I: field c 3
E: member A 5
E: member B 5
X: field x 7
X: method foo 9
X: field Z 10
X.constructor: field y 8
T: field k 14
T: method m 14
"vue".Z: field q 16
f: class Inner 22
f: field deep 22
module: constant G 12
module: function decl 13
module: constant P 18-20
module: member K1 19
""",
    ),
    "a.go": Symbols(
        """\
package m

const (
	A = iota
	B
)

var X, y = 1, 2

type S struct {
	F, ID int
	Embedded
	h     string
}
type I interface {
	M(a int) error
}

func f() {
	r.GET("/ping", h)
	x := 1
	const local = 2
}
func TestF(t *testing.T) { t.Run("sub", func(t *testing.T) {}) }
""",
        """\
S: field F 11
S: field ID 11
S: field h 13
I: method M 16
f: route /ping 20
TestF: test sub 24
module: constant A 4
module: constant B 5
module: constant X 8
module: variable y 8
""",
    ),
    "a.rs": Symbols(
        """\
const A: i32 = 1;
static B: i32 = 2;
struct S { f: i32, pub g: i32 }
enum E { V, W(i32), U { x: i32 } }
type Al = i32;
trait Tr {
    const K: i32;
    type Out;
    fn req(&self);
}
impl S {
    const Q: i32 = 1;
    fn f() {
        fn inner() {}
        const LOCAL: i32 = 1;
    }
}
extern "C" {
    fn ext();
}
macro_rules! mac { () => {} }
#[get("/x")]
fn rt() {}
""",
        """\
S: field f 3
S: field g 3
E: member V 4
E: member W 4
E: member U 4
E: field x 4
Tr: constant K 7
Tr: type Out 8
Tr: method req 9
S.f: function inner 14
S.f: constant LOCAL 15
rt: route /x 22
module: constant A 1
module: constant B 2
module: type Al 5
module: constant Q 12
module: function ext 19
""",
    ),
    "A.java": Symbols(
        """\
class A {
  private int x = 1, y;
  static final int Z = 2;
  abstract void m();
  @GetMapping("/owners")
  public String g() { return ""; }
  @RequestMapping(value = "/v", method = X)
  void h() { int local; }
  enum E { RED(1), BLUE; int f; }
  void k() {
    class Loc { int lf; void lm() {} }
  }
}
interface I {
  int CC = 1;
  @Query("select")
  List<Owner> findByLastName(String name);
}
@interface An { String value() default ""; }
record R(int a, String b) {}
""",
        """\
A: field x 2
A: field y 2
A: constant Z 3
A: method m 4
A.g: route /owners 5
A.h: route /v 7
A.E: member RED 9
A.E: member BLUE 9
A.E: field f 9
A.k: class Loc 11
A.k: field lf 11
A.k: method lm 11
I: constant CC 15
I: method findByLastName 17
An: method value 19
R: field a 20
R: field b 20
""",
    ),
    "a.c": Symbols(
        """\
#define MAX(a, b) ((a) > (b))
#define N 3
struct point { int x, *y; int arr[3]; int (*cb)(int); };
typedef struct point Point;
typedef struct { int q; } anon_t;
typedef int (*fn)(int);
enum color { RED, GREEN = 2 };
static int helper(int a);
char *ptr_proto(int b);
int global = 3, *other = 0, arr[4];
void f(void) { int local; static int st = 1; }
""",
        """\
point: field x 3
point: field y 3
point: field arr 3
point: field cb 3
anon_t: field q 5
color: member RED 7
color: member GREEN 7
module: macro MAX 1
module: macro N 2
module: type Point 4
module: type fn 6
module: function helper 8
module: function ptr_proto 9
module: variable global 10
module: variable other 10
module: variable arr 10
""",
    ),
    "a.hpp": Symbols(
        """\
class Foo {
 public:
  Foo();
  ~Foo();
  int m(int a) const;
  virtual void pure() = 0;
  Foo &ref();
  bool operator==(int);
  template <class Q> void tm(Q q);
  int x = 1;
  using T = int;
  enum { AA };
};
constexpr int kMax = 3;
using Al = std::vector<int>;
namespace ns { int g; void proto(int); enum class E { A }; }
template <typename T> concept Cc = true;
int Foo::stat = 1;
void f() { std::string local(buffer); }
""",
        """\
Foo: method Foo 3
Foo: method ~Foo 4
Foo: method m 5
Foo: method pure 6
Foo: method ref 7
Foo: method operator== 8
Foo: method tm 9
Foo: field x 10
Foo: type T 11
Foo: member AA 12
ns.E: member A 16
module: variable kMax 14
module: type Al 15
module: variable g 16
module: function proto 16
module: type Cc 17
module: variable stat 18
""",
    ),
    "A.cs": Symbols(
        """\
namespace N {
  public class Foo {
    private int x = 1, y;
    public int P { get; set; }
    const int C = 1;
    public event EventHandler E;
    public abstract void M();
    delegate void D(int a);
    [HttpGet("items/{id}")]
    public void G() { int local = 1; void Inner() {} }
  }
  enum Col { Red, Green = 2 }
  interface I { void A(); int Q { get; } }
  record R(int A, string B);
}
""",
        """\
N.Foo: field x 3
N.Foo: field y 3
N.Foo: field P 4
N.Foo: constant C 5
N.Foo: field E 6
N.Foo: method M 7
N.Foo: type D 8
N.Foo.G: route items/{id} 9
N.Foo.G: function Inner 10
N.Col: member Red 12
N.Col: member Green 12
N.I: method A 13
N.I: field Q 13
N.R: field A 14
N.R: field B 14
""",
    ),
    "a.rb": Symbols(
        """\
X = 1
class Foo
  K = 2
  attr_accessor :a, :b
  @@cv = 1
  def initialize
    @iv = 1
    loc = 2
  end
  alias_method :n, :o
  alias nn oo
  scope :active, -> { 1 }
  define_method(:dm) { }
end
describe "title" do
  it "does" do
  end
end
get '/x' do
end
$glob = 1
""",
        """\
Foo: constant K 3
Foo: field a 4
Foo: field b 4
Foo: field cv 5
Foo: method n 10
Foo: method nn 11
Foo: method active 12
Foo: method dm 13
Foo.initialize: field iv 7
module: constant X 1
module: test title 15-18
module: test does 16-17
module: route /x 19-20
module: variable $glob 21
""",
    ),
    "a.php": Symbols(
        """\
<?php
const A = 1;
define('B', 2);
class Foo {
  const C = 1;
  private static int $q, $r;
  public function __construct(private int $promo) { $local = 1; }
  abstract function ab();
  #[Route('/x')]
  function rt() {}
}
enum S: string { case One = 'a'; case Two = 'b'; }
interface I { public function a(); }
$var = 1;
Route::get('/users', [X::class, 'index']);
""",
        """\
Foo: constant C 5
Foo: field q 6
Foo: field r 6
Foo: method ab 8
Foo.__construct: field promo 7
Foo.rt: route /x 9
S: member One 12
S: member Two 12
I: method a 13
module: constant A 2
module: constant B 3
module: variable var 14
module: route /users 15
""",
    ),
    "a.kt": Symbols(
        """\
package a
const val A = 1
val b: Int = 2
typealias T = Int
class Foo(val c: Int, d: Int) {
    val e = 1
    private var f: Int = 2
    abstract fun ab()
    companion object {
        const val K = 1
    }
    fun g() {
        val loc = 1
        fun inner() {}
    }
    val h: Int get() = 1
    @GetMapping("/owners")
    fun gm() {}
}
enum class E { RED, GREEN(1) }
interface I {
    fun a()
    val q: Int
}
""",
        """\
Foo: field c 5
Foo: field e 6
Foo: field f 7
Foo: method ab 8
Foo: constant K 10
Foo: field h 16
Foo.g: function inner 14
Foo.gm: route /owners 17
E: member RED 20
E: member GREEN 20
I: method a 22
I: field q 23
module: constant A 2
module: variable b 3
module: type T 4
""",
    ),
    "a.swift": Symbols(
        """\
let a = 1
var b: Int { let local = 1 }
typealias T = Int
class Foo {
  static let c = 1
  let (e, f) = (1, 2)
  func g() { let local = 1; func inner() {} }
}
enum E { case one, two(Int); case three = 3 }
protocol P { func a(); var q: Int { get }; associatedtype X }
""",
        """\
Foo: field c 5
Foo: field e 6
Foo: field f 6
Foo.g: function inner 7
E: member one 9
E: member two 9
E: member three 9
P: method a 10
P: field q 10
P: type X 10
module: variable a 1
module: variable b 2
module: type T 3
""",
    ),
    "a.scala": Symbols(
        """\
package a
val A = 1
type T = Int
class Foo(val c: Int, d: Int) {
  var f: Int = 2
  def ab(x: Int): Int
  val g: Int
  def h = { val local = 1; def inner = 2 }
}
enum E { case Red, Green
  case Blue(x: Int) }
object O { val k = 1; given x: Int = 1 }
trait Tr { def a(): Int; type V }
""",
        """\
Foo: field c 4
Foo: field f 5
Foo: method ab 6
Foo: field g 7
Foo.h: function inner 8
E: member Red 10
E: member Green 10
E: member Blue 11
O: field k 12
O: field x 12
Tr: method a 13
Tr: type V 13
module: constant A 2
module: type T 3
""",
    ),
    "a.sh": Symbols(
        """\
X=1
X=2
readonly Y=2
export Z=3
alias ll='ls'
f() { local loc=1; G=2; }
""",
        """\
module: constant X 1
module: constant Y 3
module: constant Z 4
""",
    ),
}


def rows(path: str, text: str) -> list[str]:
    return [
        f"{chunk.id.partition(':')[2]}: {symbol.kind} {symbol.name} "
        + "-".join(str(line) for line in dict.fromkeys(symbol.lines))
        for chunk in parse(text, path)
        for symbol in chunk.symbols
    ]


@pytest.mark.parametrize("path", SAMPLES)
def test_named_definitions_are_listed_in_their_chunk(path: str) -> None:
    assert rows(path, SAMPLES[path].text) == SAMPLES[path].rows.splitlines()


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.go", "package a\nconst a, b = 1, 2\n", ["a", "b"]),
        ("a.py", "D = {'NAME_A': 1, 'b': {'C': 2}}\nE = Dict({'F': 1})", ["D", "NAME_A", "E", "F"]),
        ("a.py", "def f():\n    d = {'NAME_A': 1}\n", []),
        ("a.c", "int (*run)(int);\nstruct S { int (*cb)(int); };", ["cb", "run"]),
        ("a.c", "enum { RED, BLUE = 2 };", ["RED", "BLUE"]),
        ("a.rb", "A, B = 1, 2\nP = Struct.new(:x, :y)\ndelegate :q, :r, to: :s", [*"ABPxyqr"]),
        ("a.rb", "class C\n def f\n  @a, @b = 1, 2\n end\nend", ["a", "b"]),
        ("a.scala", "val a, b = 1\nval (c, d) = (1, 2)", [*"abcd"]),
        ("a.scala", "case class C(a: Int, b: Int)\nclass D(e: Int, val f: Int)", [*"abf"]),
        ("a.sh", "declare -A MAP\nexport HOME\nf() { declare x; }", ["MAP"]),
    ],
)
def test_several_names_of_one_statement_are_listed(path: str, text: str, names: list[str]) -> None:
    found = [each.name for chunk in parse(f"{text}\n", path) for each in chunk.symbols]
    assert found == names


def test_an_enum_without_a_name_is_no_definition() -> None:
    (chunk,) = parse("enum { RED, BLUE = 2 };\n", "a.c")
    assert (chunk.kind, chunk.name) == ("code", "RED, BLUE")


def test_what_is_defined_by_a_call_is_listed_and_what_is_required_is_not() -> None:
    text = """\
var fresh = require('fresh'), { a, b: c } = require('./x');
const etag = require('./utils').etag, made = make();
defineGetter(req, 'fresh', function () {
  return 1;
});
Object.defineProperty(res, 'stale', { value: 1 });
Object.defineProperty(exports, '__esModule', { value: true });
"""
    found = [(each.name, each.lines) for chunk in parse(text, "a.js") for each in chunk.symbols]
    assert found == [("made", (2, 2)), ("fresh", (3, 5)), ("stale", (6, 6))]


def test_every_grammar_lists_symbols() -> None:
    shown = {GRAMMARS["." + path.partition(".")[2]].symbols for path in SAMPLES}
    assert {grammar.symbols for grammar in GRAMMARS.values()} == shown


def test_each_piece_of_a_long_definition_lists_its_own() -> None:
    fields = "\n".join(f"    field_{n} = {n}" for n in range(200))
    first, second = parse(f"class Long:\n{fields}\n")

    assert [symbol.lines.start for symbol in first.symbols] == list(
        range(2, len(first.symbols) + 2)
    )
    assert first.symbols[-1].lines.start + 1 == second.symbols[0].lines.start
    assert len(first.symbols) + len(second.symbols) == 200


def test_a_chunk_lists_a_bounded_number() -> None:
    (chunk,) = parse(" ".join(f"a{n} = {n};" for n in range(MAX_SYMBOLS + 100)))

    assert [symbol.name for symbol in chunk.symbols] == [f"a{n}" for n in range(MAX_SYMBOLS)]


def test_a_title_is_one_short_line() -> None:
    (chunk,) = parse(f"it(`a\n  b {'long ' * 40}`, () => 1)", "a.js")

    assert chunk.symbols[0].name.startswith("a b long long")
    assert len(chunk.symbols[0].name) <= 100
