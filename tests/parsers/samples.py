"""A small file of every language, and the chunks it must give: checked by eye, then kept."""

from __future__ import annotations

from typing import NamedTuple


class Sample(NamedTuple):
    """A file, the definition its comment documents, and kind, name and lines of its chunks."""

    text: str
    documented: str
    signature: str
    rows: list[tuple[str, str, str]]


SAMPLES = {
    "a.js": Sample(
        """\
import x from "y";
const LIMIT = 10;

/** documented */
export function add(a, b) {
  return a + b;
}
export default class Foo extends Bar {
  field = 1;
  // about m
  m(a) { return 1; }
  get v() { return 2; }
  arrow = (x) => x;
}
const g = (x) => x + 1;
module.exports.k = function () {};
Foo.prototype.late = function () { return 1; };
const a = () => 1, b = () => 2;
run();
""",
        "add",
        "function add(a, b)",
        [
            ("code", "LIMIT", "1-19"),
            ("function", "add", "4-7"),
            ("class", "Foo", "8-14"),
            ("method", "Foo.m", "10-11"),
            ("method", "Foo.v", "12-12"),
            ("method", "Foo.arrow", "13-13"),
            ("function", "g", "15-15"),
            ("function", "k", "16-16"),
            ("method", "Foo.late", "17-17"),
            ("function", "a", "18-18"),
            ("function", "b", "18-18"),
        ],
    ),
    "a.ts": Sample(
        """\
/** documented */
export interface Shape { area(): number; name: string }
export type Id = string | number;
export enum Color { Red, Green }
export abstract class Box<T> implements Shape {
  private x = 1;
  constructor(public y: string) {}
  abstract foo(): void;
  @Decor() bar(a: number): string { return ""; }
}
namespace NS {
  export function inner() {}
}
declare function decl(x: number): void;
export const mk = <T,>(x: T): T => x;
""",
        "Shape",
        "interface Shape",
        [
            ("class", "Shape", "1-2"),
            ("class", "Id", "3-3"),
            ("class", "Color", "4-4"),
            ("class", "Box", "5-10"),
            ("method", "Box.constructor", "7-7"),
            ("method", "Box.bar", "9-9"),
            ("function", "NS.inner", "12-12"),
            ("code", "decl", "13-14"),
            ("function", "mk", "15-15"),
        ],
    ),
    "a.tsx": Sample(
        """\
import React from "react";
// documented
export const Hello = ({ name }: Props) => {
  return <div>{name}</div>;
};
export function App() { return <Hello name="x" />; }
""",
        "Hello",
        "Hello = ({ name }: Props) =>",
        [
            ("code", "imports", "1-1"),
            ("function", "Hello", "2-5"),
            ("function", "App", "6-6"),
        ],
    ),
    "a.go": Sample(
        """\
package main

import "fmt"

// Server is documented.
type Server struct {
	Addr string
}

type (
	A struct{ x int }
	B = string
)

const Max = 10

// Run runs.
func (s *Server) Run(ctx int) error { return nil }
func main() { fmt.Println("x") }
func Map[T any](x []T) []T { return x }
""",
        "Server",
        "Server struct",
        [
            ("code", "Max", "1-15"),
            ("class", "Server", "5-8"),
            ("class", "A", "11-11"),
            ("class", "B", "12-12"),
            ("method", "Server.Run", "17-18"),
            ("function", "main", "19-19"),
            ("function", "Map", "20-20"),
        ],
    ),
    "a.rs": Sample(
        """\
//! crate
use std::fmt;

/// documented
#[derive(Debug)]
pub struct Point<T> { x: T }
pub trait Area { fn req(&self); fn def(&self) -> i32 { 1 } }
impl<T> Point<T> {
    pub fn new() -> i32 { 1 }
}
impl fmt::Display for Point<i32> {
    fn fmt(&self) -> i32 { 1 }
}
mod inner {
    pub fn g() {}
}
macro_rules! mac { () => {} }
const X: i32 = 1;
""",
        "Point",
        "pub struct Point<T>",
        [
            ("code", "X", "1-18"),
            ("class", "Point", "4-6"),
            ("class", "Area", "7-7"),
            ("method", "Area.def", "7-7"),
            ("method", "Point.new", "9-9"),
            ("method", "Point.fmt", "12-12"),
            ("function", "inner.g", "15-15"),
            ("function", "mac", "17-17"),
        ],
    ),
    "a.java": Sample(
        """\
package a.b;
import java.util.List;

/** documented */
@Deprecated
public class Foo<T> extends Bar {
  private int x = 1;
  public Foo(int a) { this.x = a; }
  @Override
  public String m(int a) { return ""; }
  enum Color { RED; void c() {} }
}
interface I { void a(); default int b() { return 1; } }
record R(int a) { int s() { return a; } }
""",
        "Foo",
        "@Deprecated public class Foo<T>",
        [
            ("code", "imports", "1-2"),
            ("class", "Foo", "4-12"),
            ("method", "Foo.Foo", "8-8"),
            ("method", "Foo.m", "9-10"),
            ("class", "Foo.Color", "11-11"),
            ("method", "Foo.Color.c", "11-11"),
            ("class", "I", "13-13"),
            ("method", "I.b", "13-13"),
            ("class", "R", "14-14"),
            ("method", "R.s", "14-14"),
        ],
    ),
    "a.c": Sample(
        """\
#include <stdio.h>
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* documented */
struct point { int x; };
typedef struct { int a; } pair_t;
enum color { RED };
static int helper(int a);
static int *helper(int a) { return 0; }
int (*table(int x))(int) { return 0; }
#ifdef DEBUG
void debug(void) {}
#endif
int global = 3;
""",
        "point",
        "struct point",
        [
            ("code", "MAX, helper, global", "1-14"),
            ("class", "point", "4-5"),
            ("class", "pair_t", "6-6"),
            ("class", "color", "7-7"),
            ("function", "helper", "9-9"),
            ("function", "table", "10-10"),
            ("function", "debug", "12-12"),
        ],
    ),
    "a.cpp": Sample(
        """\
#include <string>
namespace ns {
// documented
template <typename T> class Foo : public Bar {
 public:
  Foo(int a) : x(a) {}
  ~Foo() {}
  int m(int a) const { return a; }
  virtual void pure() = 0;
  bool operator==(const Foo& o) const { return true; }
  int x;
};
void Foo<int>::out() {}
template <typename T> T mx(T a) { return a; }
enum class E { A };
constexpr int kMax = 3;
}
extern "C" { void cfun() {} }
""",
        "ns.Foo",
        "class Foo : public Bar",
        [
            ("code", "kMax", "1-18"),
            ("class", "ns.Foo", "3-12"),
            ("method", "ns.Foo.Foo", "6-6"),
            ("method", "ns.Foo.~Foo", "7-7"),
            ("method", "ns.Foo.m", "8-8"),
            ("method", "ns.Foo.operator==", "10-10"),
            ("method", "ns.Foo.out", "13-13"),
            ("function", "ns.mx", "14-14"),
            ("class", "ns.E", "15-15"),
            ("function", "cfun", "18-18"),
        ],
    ),
    "a.cs": Sample(
        """\
using System;
namespace A.B {
  /// documented
  [Serializable]
  public class Foo : Bar {
    private int x = 1;
    public int P { get; set; }
    public Foo(int a) { x = a; }
    public override string M(int a) => "";
    public static Foo operator +(Foo a, Foo b) => a;
  }
  public interface IBaz { void X(); }
  public record R(int A);
}
""",
        "A.B.Foo",
        "[Serializable] public class Foo",
        [
            ("code", "imports", "1-2"),
            ("class", "A.B.Foo", "3-11"),
            ("method", "A.B.Foo.Foo", "8-8"),
            ("method", "A.B.Foo.M", "9-9"),
            ("method", "A.B.Foo.operator", "10-10"),
            ("class", "A.B.IBaz", "12-12"),
            ("class", "A.B.R", "13-13"),
        ],
    ),
    "a.rb": Sample(
        """\
require 'x'
# documented
module M
  class Foo < Bar
    attr_reader :a
    # about m
    def m(a, b = 1)
      1
    end
    def self.s; end
    class << self
      def t; 1; end
    end
  end
end
def top; end
""",
        "M",
        "module M",
        [
            ("code", "imports", "1-1"),
            ("class", "M", "2-15"),
            ("class", "M.Foo", "4-14"),
            ("method", "M.Foo.m", "6-9"),
            ("method", "M.Foo.s", "10-10"),
            ("method", "M.Foo.t", "12-12"),
            ("function", "top", "16-16"),
        ],
    ),
    "a.php": Sample(
        """\
<?php
namespace A\\B;
/** documented */
#[Attr]
class Foo extends Bar {
  const C = 1;
  public function m(int $a): string { return ""; }
  abstract public function n();
}
interface I { public function a(); }
trait Tr { function t() {} }
function top($a) { return 1; }
$f = function ($x) { return 1; };
""",
        "Foo",
        "#[Attr] class Foo extends Bar",
        [
            ("code", "imports", "1-2"),
            ("class", "Foo", "3-9"),
            ("method", "Foo.m", "7-7"),
            ("class", "I", "10-10"),
            ("class", "Tr", "11-11"),
            ("method", "Tr.t", "11-11"),
            ("function", "top", "12-12"),
            ("function", "f", "13-13"),
        ],
    ),
    "a.kt": Sample(
        """\
package a.b

/** documented */
data class Foo(val a: Int) : Bar() {
    val p: Int = 1
    fun m(a: Int): String { return "" }
    companion object {
        fun make() = Foo(1)
    }
    constructor(b: String) : this(1) { println(b) }
}

interface I {
    fun a()
}

object Single {
    fun s() {}
}

fun String.ext(): Int = 1
""",
        "Foo",
        "data class Foo(val a: Int)",
        [
            ("code", "imports", "1-1"),
            ("class", "Foo", "3-11"),
            ("method", "Foo.m", "6-6"),
            ("method", "Foo.make", "8-8"),
            ("method", "Foo.constructor", "10-10"),
            ("class", "I", "13-15"),
            ("class", "Single", "17-19"),
            ("method", "Single.s", "18-18"),
            ("function", "ext", "21-21"),
        ],
    ),
    "a.swift": Sample(
        """\
import Foundation
/// documented
@objc public class Foo: Bar {
  var x: Int = 1
  init(a: Int) { }
  func m(a: Int) -> String { return "" }
}
struct S { func f() {} }
protocol P { func a() }
extension Foo: P { func a() {} }
func top<T>(a: T) -> T { return a }
let g = 1
""",
        "Foo",
        "@objc public class Foo: Bar",
        [
            ("code", "g", "1-12"),
            ("class", "Foo", "2-7"),
            ("method", "Foo.init", "5-5"),
            ("method", "Foo.m", "6-6"),
            ("class", "S", "8-8"),
            ("method", "S.f", "8-8"),
            ("class", "P", "9-9"),
            ("class", "Foo", "10-10"),
            ("method", "Foo.a", "10-10"),
            ("function", "top", "11-11"),
        ],
    ),
    "a.scala": Sample(
        """\
package a.b
import x._
/** documented */
case class Foo(a: Int) extends Bar {
  val p = 1
  def m(a: Int): String = { "" }
}
object Single { def s(): Unit = {} }
trait T { def a(): Int }
def top(a: Int): Int = a
""",
        "Foo",
        "case class Foo(a: Int) extends Bar",
        [
            ("code", "imports", "1-2"),
            ("class", "Foo", "3-7"),
            ("method", "Foo.m", "6-6"),
            ("class", "Single", "8-8"),
            ("method", "Single.s", "8-8"),
            ("class", "T", "9-9"),
            ("function", "top", "10-10"),
        ],
    ),
    "a.sh": Sample(
        """\
#!/bin/bash
set -e
X=1
# documented
greet() {
  echo hi
}
function bye { echo; }
if true; then
  inner() { echo; }
fi
greet "$@"
""",
        "greet",
        "greet()",
        [
            ("code", "X", "1-12"),
            ("function", "greet", "4-7"),
            ("function", "bye", "8-8"),
            ("function", "inner", "10-10"),
        ],
    ),
}
