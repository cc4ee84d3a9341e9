"""Test member functions that differ only in the address space of their object."""

from __future__ import annotations

from frontend.address_spaces import results

METHODS = """
struct Tile {
  float v[4]; union { int n; uint bits; };
  thread float& at(int i) { return v[i]; }
  threadgroup float& at(int i) threadgroup { return v[i]; }
  device float& at(int i) device { return this->v[i]; }
  int where() const { return 1; }
  int where() const threadgroup { return 2 + helper(n) - 1; }
  int where() const device;
  int where() constant { return 4; }
  int helper(int n) const { return 10; }
  int helper(int n) const threadgroup { float v = 1; return v * n; }
  int operator+(int b) const { return 10 + b; }
  int operator+(int b) const device { return 30 + b; }
  operator int() const { return 1; }
  operator int() const device { return 3; }
};
int Tile::where() const device { return 3 + n; }
"""


def test_member_functions_of_an_object_in_a_space(run_body):
    body = """Tile own = {}; threadgroup Tile shared; shared.n = 1;
    device Tile* far = (device Tile*)d; far->n = 0;
    constant Tile* fixed = (constant Tile*)c;""" + results(
        "own.where()",
        "shared.where()",
        "far->where()",
        "fixed->where()",
        "by(own.at(0)) * 100 + by(shared.at(1)) * 10 + by(far->at(2))",
        "(own + 1) * 100 + (*far + 2)",
        "int(own) * 10 + int(*far)",
    )
    assert run_body(METHODS, body)[:7] == [1, 2, 3, 4, 123, 1132, 13]


def test_member_functions_write_the_object_itself(run_body):
    declarations = """
    struct Base { float low; };
    template <typename T> struct Sum : Base {
      T total; int count[2];
      void add(T x) thread { total += x; }
      void add(T x) device { total += 10 * x; count[1]++; low = x; again(2); }
      template <typename U> void again(U x) device { total = total * x; }
    };
    """
    body = """device Sum<float>* s = (device Sum<float>*)d; s->total = 1; s->count[1] = 5;
    Sum<float> own = {}; own.add(3); s->add(2);""" + results(
        "int(own.total)", "int(s->total)", "s->count[1]", "int(s->low)", "by(*d)"
    )
    assert run_body(declarations, body)[:5] == [3, 42, 6, 2, 3]


def test_member_functions_of_templates_defined_outside(run_body):
    declarations = """
    template <typename T> struct Box { T inner; };
    template <typename T, int N> struct Row {
      T v[N]; thread T& at(int i) thread; device T& at(int i) device; int kind() constant;
    };
    template <typename T, int N> thread T& Row<T, N>::at(int i) thread { return v[0]; }
    template <typename T, int N> device T& Row<T, N>::at(int i) device { return v[i]; }
    template <typename T, int N> int Row<T, N>::kind() constant { return int(v[1].inner) + 40; }
    """
    body = """Row<Box<float>, 2> own = {};
    device Row<Box<float>, 2>* p = (device Row<Box<float>, 2>*)d;
    constant Row<Box<float>, 2>* q = (constant Row<Box<float>, 2>*)c;
    """ + results("by(own.at(1).inner)", "by(p->at(1).inner)", "int(p->at(1).inner)", "q->kind()")
    assert run_body(declarations, body)[:4] == [1, 3, 1, 41]


def test_records_with_default_constructors_stay_aggregates(run_body):
    declarations = """
    struct Pair { float a, b; Pair() = default; Pair() threadgroup = default; };
    struct Made { float a; Made() = default; Made(float x) : a(x + 1) {}
                  Made(float x) constant : a(x + 1) {}
                  Made(device const Made&) = default; };
    """
    body = "Pair p{1, 2}; Made m(3); threadgroup Made t; t = m;" + results(
        "int(p.b)", "int(t.a)", "by(t.a)"
    )
    assert run_body(declarations, body)[:3] == [2, 4, 2]
